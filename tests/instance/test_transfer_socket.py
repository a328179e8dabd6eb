"""Arrays through the viewer's web address: the same transfers, for whoever can reach nothing else."""

import logging
from collections.abc import Iterator

import numpy as np
import pytest

from pellucid import progress
from pellucid.errors import TokenRejected
from pellucid.formats.protocol import Voxels
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.server import Instance
from pellucid.transport.client import retrieve, send, stream
from pellucid.transport.wire.announcement import ArrayInfo
from pellucid.volume.sample_volume import sample
from tests.instance.loopback import secret


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


@pytest.fixture(scope="module")
def ball() -> Voxels:
    return np.ascontiguousarray(sample(24))


def test_there_and_back(instance: Instance, ball: Voxels, caplog: pytest.LogCaptureFixture) -> None:
    token = instance.session.access.token
    with caplog.at_level(logging.WARNING, "pellucid.transport"):
        report = send(instance.address, ball, token=token, label=ArrayInfo("scan"))
    assert (report.lane, report.nbytes) == ("proxy", ball.nbytes)
    assert f"Through the web proxy at {instance.address[:-1]}: 27.0 KiB through proxy in " in caplog.text
    assert caplog.text.rstrip().endswith("/s).")
    received = retrieve(instance.address, {"layer": 0, "box": "1:3,4:9,5:8"}, token=token)
    assert np.array_equal(received.array, ball[1:3, 4:9, 5:8])
    assert received.report is not None and received.report.lane == "proxy"


def test_a_stream(instance: Instance, ball: Voxels) -> None:
    token = instance.session.access.token
    with stream(instance.address, ball.shape, ball.dtype, token=token, label=ArrayInfo("scan")) as writer:
        for slice_ in ball:
            writer.append(slice_)
    assert writer.lane == "proxy"
    assert np.array_equal(retrieve(instance.address, {}, token=token).array, ball)


@pytest.mark.parametrize("capability", ["view", "control"])
def test_only_its_owner_may_send(capability: Capability, instance: Instance, ball: Voxels) -> None:
    with pytest.raises(TokenRejected, match="rejected the token"):
        send(instance.address, ball, token=secret(instance, capability))


def test_a_stranger_is_refused(instance: Instance, ball: Voxels) -> None:
    with pytest.raises(TokenRejected, match="rejected the token"):
        send(instance.address, ball, token="wrong horse battery")
