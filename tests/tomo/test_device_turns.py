"""Turns: one at a time, the oldest first."""

import threading
from concurrent.futures import ThreadPoolExecutor

from pellucid.tomo.pipeline.device_turns import TicketLock
from tests.waiting import wait_until


def test_who_began_first_goes_first() -> None:
    turns, served = TicketLock(), []
    numbers = [turns.ticket() for _ in range(4)]
    entered = threading.Event()
    leave = threading.Event()

    def first() -> None:
        with turns.hold(numbers[3]):
            entered.set()
            leave.wait()

    def other(number: int) -> None:
        with turns.hold(number):
            served.append(number)

    with ThreadPoolExecutor(4) as pool:
        pool.submit(first)
        entered.wait()
        for number in (numbers[2], numbers[0], numbers[1]):
            pool.submit(other, number)
        wait_until(lambda: len(turns._waiting) == 3)
        leave.set()
    assert served == numbers[:3]


def test_one_at_a_time_also_after_a_failure() -> None:
    turns, inside, most = TicketLock(), [0], [0]

    def work() -> None:
        number = turns.ticket()
        for _ in range(50):
            try:
                with turns.hold(number):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
                    raise ValueError
            except ValueError:
                pass

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for _ in range(4)]:
            future.result()
    assert most == [1]
