"""Sites of Parsl: by name and from files, checked without a cluster."""

import re
from pathlib import Path
from typing import Any

import pytest

from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.parsl.configuration import check_kind, make_executor
from pellucid.engines.parsl.engine import ParslEngine
from pellucid.engines.parsl.site import ParslSite, WorkerKind, find_site, local_site
from pellucid.errors import InvalidInput
from pellucid.jobs.resources import Resources
from pellucid.settings import load, use

SLURM = """
provider = "slurm"
setup = "module load cuda"

[workers.cpu]
per_node = 8
nodes = 2
cores = 4
memory = "16GiB"
[workers.cpu.provider]
partition = "cpu"

[workers.gpu]
gpus = 4
cores = 8
memory = "60GiB"
[workers.gpu.provider]
partition = "gpu"
walltime = "02:00:00"
scheduler_options = "#SBATCH --qos=short\\n"
"""
KUBERNETES = """
provider = "kubernetes"
folder = "/data/pellucid"

[workers.cpu]
per_node = 2
nodes = 3
cores = 2
memory = "8GiB"
[workers.cpu.provider]
image = "registry.example/pellucid:1"
namespace = "imaging"
persistent_volumes = [["claim", "/data"]]
"""
AWS = """
provider = "aws"
setup = "pip install 'pellucid[parsl]' && mount -t nfs server:/data /data"

[workers.cpu]
nodes = 4
[workers.cpu.provider]
image_id = "ami-1"
key_name = "me"
instance_type = "c7i.xlarge"
"""
GOOGLE = """
provider = "googlecloud"
[workers.cpu]
[workers.cpu.provider]
project_id = "imaging"
key_file = "key.json"
region = "europe-west6"
os_project = "debian-cloud"
os_family = "debian-12"
"""
AZURE = """
provider = "azure"
setup = "mount /data"
[workers.cpu]
[workers.cpu.provider]
vm_reference = { publisher = "Debian", offer = "debian-12", sku = "12", version = "latest" }
"""


def site(text: str, folder: Path) -> ParslSite:
    (folder / "here.toml").write_text(text)
    return find_site(str(folder / "here.toml"))


def test_a_site_states_what_its_workers_have(tmp_path: Path) -> None:
    cpu, gpu = site(SLURM, tmp_path).kinds
    assert (cpu.count, cpu.resources) == (16, Resources(16 * 2**30, 4, 0))
    assert (gpu.count, gpu.resources) == (4, Resources(60 * 2**30, 8, 1))
    assert gpu.gpus == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("needs", "kind"),
    [
        (Resources(2**30), "cpu"),
        (Resources(2**30, gpus=1), "gpu"),
        (Resources(2**30, cores=8), "gpu"),
        (Resources(2**35), "gpu"),
        (Resources(2**40), None),
    ],
)
def test_blocks_go_to_workers_without_a_gpu_where_these_suffice(
    needs: Resources, kind: str | None, tmp_path: Path
) -> None:
    found = site(SLURM, tmp_path).kind_for(needs)
    assert (found.name if found else None) == kind


def test_slurm_is_asked_for_what_the_site_states(tmp_path: Path) -> None:
    stated = site(SLURM, tmp_path)
    executor = make_executor(stated, stated.kinds[1], "gpu")
    provider = executor.provider
    assert (provider.partition, provider.walltime, provider.max_blocks) == ("gpu", "02:00:00", 1)
    assert (provider.cores_per_node, provider.mem_per_node, provider.exclusive) == (32, 240, False)
    assert "--gpus-per-node=4" in provider.scheduler_options and "--qos=short" in provider.scheduler_options
    assert "module load cuda" in provider.worker_init and "PYTHONSAFEPATH=1" in provider.worker_init
    assert executor.available_accelerators == ["0", "1", "2", "3"] and executor.encrypted
    assert "-P -m parsl.executors.high_throughput.process_worker_pool --max_workers" in " ".join(
        executor.launch_cmd.replace("{debug}", "").replace("{max_workers_per_node}", "--max_workers").split()
    )


def check_kinds(stated: ParslSite) -> list[str]:
    """The names of the kinds of workers, each of which was checked."""
    for kind in stated.kinds:
        check_kind(stated, kind)
    return [kind.name for kind in stated.kinds]


@pytest.mark.parametrize("text", [SLURM, KUBERNETES, AWS, GOOGLE, AZURE])
def test_clusters_and_clouds_are_checked_without_one(text: str, tmp_path: Path) -> None:
    assert check_kinds(site(text, tmp_path)) == re.findall(r"^\[workers\.(\w+)\]$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SLURM.replace("partition", "partitoin"), "SlurmProvider has no option 'partitoin'"),
        (SLURM.replace('"02:00:00"', "120"), "Invalid value 120 for walltime"),
        (KUBERNETES.replace("image =", "secret ="), "KubernetesProvider needs the option 'image'"),
        (KUBERNETES.replace('"/data"]', '"/other"]'), "do not have the folder /data/pellucid"),
        (KUBERNETES.replace('"imaging"', "7"), "Invalid value 7 for namespace"),
        (AWS.replace("key_name", "key_file"), "AWSProvider needs the option 'key_name'"),
        (AWS.replace("setup", "# setup"), "start on empty machines"),
        (GOOGLE.replace("region", "# region"), "GoogleCloudProvider needs the option 'region'"),
        (AZURE.replace('provider = "azure"', 'provider = "cloud"'), "Unknown provider 'cloud'"),
    ],
)
def test_what_a_provider_would_refuse_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        assert check_kinds(site(text, tmp_path)) == re.findall(r"^\[workers\.(\w+)\]$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "Unknown setting 'x'"),
        ("provider = 'local'", "has no workers"),
        ("[workers.cpu]\nper_node = 0", "Invalid value 0 for per_node"),
        ("[workers.cpu]\nmemory = 'much'", "Invalid value 'much' for memory"),
        ("[workers.cpu]\ngpus = 'all'", "Invalid value 'all' for gpus"),
        ("[workers.CPU]", "Invalid name 'CPU'"),
        ("[workers", "Could not read the site"),
    ],
)
def test_mistakes_in_a_site(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        site(text, tmp_path)


PROGRAM = """
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import SlurmProvider

config = Config(executors=[HighThroughputExecutor(
    label="gpu", available_accelerators=2, cores_per_worker=4, mem_per_worker=30,
    provider=SlurmProvider(partition="gpu", max_blocks=3, nodes_per_block=2),
)])
"""


def test_a_program_that_makes_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "site.py").write_text(PROGRAM)
    (kind,) = find_site(str(tmp_path / "site.py")).kinds
    assert kind == WorkerKind("gpu", 2, 6, 4, 30 * 2**30, ("0", "1"))
    (tmp_path / "empty.py").write_text("x = 1")
    with pytest.raises(InvalidInput, match="does not define config"):
        find_site(str(tmp_path / "empty.py"))
    (tmp_path / "threads.py").write_text("from parsl.config import Config\nconfig = Config()")
    with pytest.raises(InvalidInput, match="Use a HighThroughputExecutor"):
        find_site(str(tmp_path / "threads.py"))


def test_sites_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PELLUCID_CONFIG", raising=False)
    (tmp_path / "pellucid/parsl").mkdir(parents=True)
    (tmp_path / "etc/parsl").mkdir(parents=True)
    with use(load(site_file=tmp_path / "etc/site.toml")):
        (tmp_path / "etc/parsl/cluster.toml").write_text(SLURM)
        assert find_site("cluster").kinds[0].per_node == 8
        (tmp_path / "pellucid/parsl/cluster.toml").write_text(SLURM.replace("per_node = 8", "per_node = 3"))
        assert find_site("cluster").kinds[0].per_node == 3
        with pytest.raises(InvalidInput, match="Choose one of local, cluster, the path of a file"):
            find_site("other")
    with pytest.raises(InvalidInput, match=r"absent\.toml does not exist"):
        find_site("absent.toml")


def test_blocks_are_planned_for_the_workers_of_the_site(tmp_path: Path) -> None:
    site(SLURM, tmp_path)
    engine = make_engine(f"parsl:{tmp_path}/here.toml", EngineOptions(2, 10_000))
    assert isinstance(engine, ParslEngine) and not engine.is_here
    assert engine.options.workers == 20 and engine.options.memory_bytes // 20 == 16 * 2**30
    assert engine.capacity() == Resources(60 * 2**30, 8, 1)


def test_this_machine_has_a_worker_for_every_gpu() -> None:
    cpu, gpu = local_site(4, 2**30, ("cuda:0", "cuda:3")).kinds
    assert (cpu.count, cpu.memory_bytes) == (4, 2**28)
    assert (gpu.count, gpu.gpus) == (2, ("0", "3"))


def test_a_report_needs_a_name_that_says_its_kind(tmp_path: Path) -> None:
    options: dict[str, Any] = {"workers": 1, "memory_bytes": 1}
    with pytest.raises(InvalidInput, match=r"ending in \.svg or \.json"):
        make_engine("parsl", EngineOptions(**options, usage_file=tmp_path / "use.txt"))
    with pytest.raises(InvalidInput, match="The engine serial does not report"):
        make_engine("serial", EngineOptions(**options, usage_file=tmp_path / "use.svg"))
