"""Errors say what happened and what to do, and travel between processes."""

import pickle

import pytest

from pellucid import errors

EXAMPLES = [
    errors.InvalidInput("The lens cap is on.", remedy="Take it off."),
    errors.NotFound("a.h5"),
    errors.Truncated("a.raw", needs=10, has=5),
    errors.DatasetAmbiguous("a.h5", ["/x (3, 3, 3)", "/y (4, 4, 4)"]),
    errors.DatasetAmbiguous("a.h5", []),
    errors.SelectionNeeded("a.tif", times=3, channels=2),
    errors.NotEnoughMemory(needs=2**30, has=2**20, remedy="Open level 1."),
    errors.ChunkConflict((3, 3, 3), (2, 2, 2)),
    errors.WorkerLost("reading", "killed"),
    errors.MissingPackage("ucxx", "ucx"),
    errors.Unreachable("node7:5100", "Connection refused"),
    errors.TokenRejected("node7:5100"),
    errors.TransferTooLarge(announced=2**31, limit=2**30),
    errors.TransferProtocolError("it sent piece 9 of 6"),
    errors.TransferInterrupted("the peer closed the connection", done=2**20, total=2**30),
    errors.ReceiverBusy("scan"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_two_sentences(error: errors.PellucidError) -> None:
    assert error.what.rstrip().endswith(".")
    assert error.remedy.rstrip().endswith(".")
    assert str(error) == f"{error.what} {error.remedy}"


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_crosses_a_process_border(error: errors.PellucidError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)


def test_choices_are_listed() -> None:
    assert "/x (3, 3, 3), /y (4, 4, 4)" in str(errors.DatasetAmbiguous("a.h5", ["/x (3, 3, 3)", "/y (4, 4, 4)"]))
    assert "a.tif:t=0,c=0" in str(errors.SelectionNeeded("a.tif", 3, 2))
    assert "1.0 GiB needed, 1.0 MiB available" in str(errors.NotEnoughMemory(2**30, 2**20, remedy="Open level 1."))
    assert "credentials" in str(errors.Unreadable("s3://bucket/a.zarr", "no answer"))
