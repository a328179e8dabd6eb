"""The CPU passes the device contract."""

import pytest

from pellucid.device import Device, choose
from tests.contracts.device import DeviceContract


class TestCpu(DeviceContract):
    @pytest.fixture
    def device(self) -> Device:
        return choose("cpu")
