"""What a Worker shows of a scan that is about to be reconstructed."""

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.errors import Cancelled, InvalidInput
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.slice_sheet import grey_levels
from pellucid.workers.protocol.requests import DescribeScan, MakePreview, Subject
from pellucid.workers.queries.previews import shrunk, window
from pellucid.workers.supervisor import SupervisedWorker
from tests.tomo.small_scan import AXIS, COLUMNS, write_scan
from tests.waiting import TIMEOUT_S

OPTIONS = ScanOptions(pixel_size_um=5.0)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_scan(tmp_path_factory.mktemp("scan") / "scan.h5", rows=6))


def requested(scan: str, subject: Subject = "slice") -> MakePreview:
    return MakePreview(0, scan, OPTIONS, subject, 2, Recipe(center=AXIS), edge=512)


def tried(worker: SupervisedWorker, requested: MakePreview) -> "Future[Any]":
    return worker.send_request("trying", lambda request: replace(requested, request=request))


def test_a_slice_is_the_librarys_own(worker: SupervisedWorker, scan: str) -> None:
    reply, shared = tried(worker, requested(scan)).result(TIMEOUT_S)
    own = SlicePreview(open_scan(scan, OPTIONS), choose("cpu")).slice(2, Recipe(center=AXIS))
    with shared:
        assert np.array_equal(shared.array, grey_levels(own, *window(own)))
    assert (reply.center, reply.unit, reply.width) == (AXIS, "1/cm", COLUMNS)


def test_pictures_and_facts_of_a_scan(worker: SupervisedWorker, scan: str) -> None:
    described = worker.send_request("looking", lambda request: DescribeScan(request, scan, OPTIONS)).result(TIMEOUT_S)
    facts = described.facts
    assert (facts.projections, facts.rows, facts.columns, facts.flats, facts.darks) == (72, 6, COLUMNS, 3, 2)
    sizes: dict[Subject, tuple[int, int]] = {"projection": (6, COLUMNS), "sinogram": (72, COLUMNS)}
    for subject, size in sizes.items():
        _, shared = tried(worker, requested(scan, subject)).result(TIMEOUT_S)
        with shared:
            assert shared.shape == size


def test_a_trial_that_is_not_wanted_any_more_is_given_up(worker: SupervisedWorker, scan: str) -> None:
    futures = [tried(worker, requested(scan)) for _ in range(30)]
    worker.cancel(futures[-1])
    with pytest.raises(Cancelled):
        futures[-1].result(TIMEOUT_S)
    futures[-2].result(TIMEOUT_S)[1].close()


def test_what_is_missing_in_a_scan_is_said(worker: SupervisedWorker, scan: str) -> None:
    with pytest.raises(InvalidInput, match="nothing"):
        options = ScanOptions(angles="nothing")
        worker.send_request("looking", lambda request: DescribeScan(request, scan, options)).result(TIMEOUT_S)


def test_a_picture_fits_its_place() -> None:
    values = np.arange(40.0).reshape(4, 10)
    assert shrunk(values, 5).tolist() == values.reshape(4, 5, 2).mean(axis=2).tolist()
    assert shrunk(values, 40).shape == (4, 10)
    assert grey_levels(np.array([[-1.0, 0.5, 2.0]]), 0, 1).tolist() == [[0, 128, 255]]
