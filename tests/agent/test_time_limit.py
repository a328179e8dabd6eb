"""Before a job's time is over there are warnings, and the scene is saved."""

import re
from pathlib import Path

import numpy as np
import pytest

from pellucid import settings
from pellucid.agent.jobs.time_limit import TimeLimitWarning
from pellucid.instance.scene import saved_states
from pellucid.volume.sample_volume import sample
from tests.instance.loopback import open_page, running


def test_it_warns_twice_and_what_was_saved_can_be_shown_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "ball.npy", sample(16))
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path / "state"))
    waited: list[float] = []
    with settings.use(settings.load()), running(str(tmp_path / "ball.npy"), tmp_path) as instance:
        with open_page(instance) as page:
            TimeLimitWarning(instance.session, 3600.0).watch(waited.append)
            first, second = page.hear_text("error"), page.hear_text("error")
        assert waited == [3000.0, 480.0]
        assert [one["what"] for one in (first, second)] == [
            "This viewer's job reaches its time limit in 10 min.",
            "This viewer's job reaches its time limit in 2 min.",
        ]
        found = re.fullmatch(r"Continue with: pellucid start --state ([0-9a-f]{10})", second["remedy"])
        assert found is not None
        assert str(tmp_path / "ball.npy") in str(saved_states.load_state(found[1]).scene)


def test_a_job_that_is_short_warns_as_soon_as_it_can(tmp_path: Path) -> None:
    waited: list[float] = []
    with running(None, tmp_path) as instance:
        TimeLimitWarning(instance.session, 300.0).watch(waited.append)
    assert waited == [180.0]
