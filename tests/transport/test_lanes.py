"""Every lane passes the contract."""

from tests.contracts.lanes import LaneContract


class TestSharedMemory(LaneContract):
    lane = "shm"


class TestTcp(LaneContract):
    lane = "tcp"


class TestUcx(LaneContract):
    lane = "ucx"
