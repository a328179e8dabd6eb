"""The batch script: every option, quoting, and what is refused."""

import subprocess
from pathlib import Path

import pytest

from pellucid.errors import InvalidInput
from pellucid.jobs.batch_script import batch_script, options
from pellucid.jobs.job import Job, exit_code
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site

FOLDER = Path("/scratch/ada/job")


def job(**fields: object) -> Job:
    return Job(**{"id": "a1", "command": ("/bin/true",), "folder": FOLDER, **fields})  # type: ignore[arg-type]


def test_everything_that_is_wanted_is_asked_for() -> None:
    site = Site("slurm", "gpu", "imaging", "a100&nvlink", 60, ("--qos=vis",))
    wanted = job(resources=Resources(gpus=2, memory_bytes=3 * 2**30 + 1, cores=8, minutes=90))
    assert list(options(wanted, site)) == [
        "--job-name=pellucid-a1", '--output="/scratch/ada/job/log.txt"', "--open-mode=append", "--export=NONE",
        "--no-requeue", "--nodes=1", "--time=90", "--ntasks=1", "--gpus=2", "--cpus-per-task=8", "--mem=3073M",
        "--partition=gpu", "--account=imaging", "--constraint=a100&nvlink", "--qos=vis",
    ]  # fmt: skip


def test_several_nodes_have_a_task_for_each_gpu() -> None:
    wanted = job(resources=Resources(gpus=6, memory_bytes=3 * 2**30, cores=12, minutes=90, nodes=3))
    assert list(options(wanted, Site("slurm")))[5:] == [
        "--nodes=3", "--time=90", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=2", "--mem=1024M",
    ]  # fmt: skip


def test_what_is_not_wanted_is_left_to_the_scheduler() -> None:
    request = " ".join(options(job(), Site(time_limit_minutes=480)))
    assert "--time=480" in request
    assert not [
        name for name in ("gpus", "mem", "cpus", "partition", "account", "constraint") if f"--{name}" in request
    ]


@pytest.mark.parametrize("value", ["gpu --uid=root", "gpu\n#SBATCH --uid=0", 'gpu"', "gpu;reboot", "$(reboot)"])
def test_a_value_cannot_bring_another_option(value: str) -> None:
    with pytest.raises(InvalidInput, match="not allowed in a batch script"):
        batch_script(job(), Site(partition=value))


def test_a_percent_sign_in_a_path_stays_one() -> None:
    assert '--output="/scratch/100%%/log.txt"' in batch_script(job(folder=Path("/scratch/100%")), Site())
    with pytest.raises(InvalidInput, match="PELLUCID_STATE_FOLDER"):
        batch_script(job(folder=Path('/scratch/"')), Site())


def test_bash_runs_it_with_awkward_words(tmp_path: Path) -> None:
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    shown = job(
        folder=folder,
        environment={"WORD": "a 'b' $c"},
        command=("/bin/sh", "-c", 'echo "$WORD|$1"; exit 3', "-", "x  y"),
    )
    done = subprocess.run(["/bin/bash"], input=batch_script(shown, Site()), text=True, capture_output=True, check=False)
    assert (done.stdout, done.returncode, exit_code(folder)) == ("a 'b' $c|x  y\n", 3, 3)
