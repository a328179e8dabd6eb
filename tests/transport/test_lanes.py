"""Every lane passes the contract; so does TCP with TLS, and through a web server."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pellucid.transport.address import Certificate
from pellucid.transport.host import Host, ReceiveLimits
from pellucid.transport.server import Listener
from tests.contracts.lanes import TOKEN, LaneContract
from tests.transport.certificates import make_certificate
from tests.transport.web import Front, web_front


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with web_front(TOKEN) as front:
        yield front


class TestSharedMemory(LaneContract):
    lane = "shm"
    kept_before_stall = 0


class TestTcp(LaneContract):
    lane = "tcp"


class TestTls(LaneContract):
    lane = "tcp"
    files: Certificate

    @pytest.fixture(autouse=True)
    def use_files(self, files: Certificate) -> None:
        self.files = files

    @contextmanager
    def listening(self, host: Host, limits: ReceiveLimits) -> Iterator[Listener]:
        with Listener(token=TOKEN, host=host, limits=limits, certificate=self.files) as listener:
            yield listener


class TestUcx(LaneContract):
    lane = "ucx"


class TestProxy(LaneContract):
    lane = "proxy"
    served = ("web",)
    front: Front

    @pytest.fixture(autouse=True)
    def use_front(self, front: Front) -> None:
        self.front = front

    def address(self, listener: Listener) -> str:
        return self.front.address if listener is self.front.listener else f"http://{listener.address}"

    @contextmanager
    def listening(self, host: Host, limits: ReceiveLimits) -> Iterator[Listener]:
        with Listener(token=TOKEN, host=host, limits=limits) as self.front.listener:
            yield self.front.listener
