"""The site file, what it may say, and what a person may choose."""

from pathlib import Path

import pytest

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.jobs.site import NodeSpec, Site, read_site

FILE = """
scheduler = "slurm"
partition = "gpu"
options = ["--qos=vis"]
may_override = ["partition", "time_limit_minutes"]
poll_s = 5
[node]
gpus = 4
gpu_memory = "80GiB"
memory = "512GiB"
cores = 64
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "site.toml"
    path.write_text(text)
    return path


def test_without_a_file_everything_runs_here(tmp_path: Path) -> None:
    assert read_site(tmp_path / "site.toml") == Site(scheduler="local")


def test_a_file_is_read(tmp_path: Path) -> None:
    site = read_site(written(tmp_path, FILE))
    assert (site.scheduler, site.partition, site.options, site.poll_s) == ("slurm", "gpu", ("--qos=vis",), 5.0)
    assert site.node == NodeSpec(4, 80 * 2**30, 512 * 2**30, 64)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("scheduler = 'pbs'", "Choose from: local, slurm"),
        ("partitions = 'gpu'", "Unknown setting 'partitions'"),
        ("time_limit_minutes = '8h'", "Invalid value '8h' for time_limit_minutes in"),
        ("may_override = ['uid']", "Invalid value uid for may_override in"),
        ("[node]\ngpu_memory = 'much'", "Invalid value 'much' for gpu_memory in"),
        ("node = 3", "node is not a table"),
        ("scheduler", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_site(written(tmp_path, text))
    assert fault in str(refused.value)


def test_a_person_chooses_what_the_site_allows(tmp_path: Path) -> None:
    site = read_site(written(tmp_path, FILE))
    chosen = site.overridden({"partition": "long", "time_limit_minutes": 60})
    assert (chosen.partition, chosen.time_limit_minutes, chosen.options) == ("long", 60, ("--qos=vis",))
    with pytest.raises(NotAllowed, match=r"choosing account\. You may choose: partition, time_limit_minutes"):
        site.overridden({"account": "somebody"})
