"""Every step is done on the CPU, and on CUDA where there is a card."""

import pytest

from pellucid.device import Device, choose, devices


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cuda" and not any(found.is_cuda for found in devices()):
        pytest.skip("needs a CUDA device")
    return choose(request.param)
