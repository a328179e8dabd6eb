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


def test_two_hold_a_turn_together_and_a_third_waits() -> None:
    """On a card: one queues kernels while the card works on those of the other."""
    turns, both = TicketLock(), threading.Barrier(2)
    leave, third = threading.Event(), threading.Event()

    def one_of_two(number: int) -> None:
        with turns.hold(number, together=2):
            both.wait(timeout=60)  # Passes only when two are inside.
            leave.wait()

    def last(number: int) -> None:
        with turns.hold(number, together=2):
            third.set()

    numbers = [turns.ticket() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        work = [pool.submit(one_of_two, number) for number in numbers[:2]]
        wait_until(lambda: turns._holders == 2)
        work.append(pool.submit(last, numbers[2]))
        wait_until(lambda: turns._waiting == numbers[2:])
        assert not third.is_set()
        leave.set()
        for one in work:
            one.result()
    assert third.is_set()
