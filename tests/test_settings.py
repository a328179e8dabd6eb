"""Settings: precedence, sizes, what is refused and how it is said, the memory of the machine."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pellucid import settings
from pellucid.errors import InvalidInput
from tests.suite_report import ROOT

GIB = 2**30


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in which nobody has set anything; returns where the settings file would be."""
    for variable in [name for name in os.environ if name.startswith("PELLUCID_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "config" / "pellucid" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def test_defaults(tmp_path: Path) -> None:
    loaded = settings.load()
    assert loaded.cache_folder == tmp_path / "cache" / "pellucid"
    assert loaded.kernel_folder == tmp_path / "cache" / "pellucid" / "kernels"
    assert 0 < loaded.cache_bytes <= 20 * GIB
    assert 0 < loaded.memory_bytes <= settings.total_memory_bytes() // 2
    assert loaded.threads == len(os.sched_getaffinity(0))
    assert loaded.device == "auto"


def test_cache_default_leaves_half_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_free_disk_bytes", lambda folder: 6 * GIB)
    assert settings.load().cache_bytes == 3 * GIB


def test_arguments_before_environment_before_file(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write_text('threads = 3\ndevice = "cpu"\ncache_bytes = "1GiB"\n')
    monkeypatch.setenv("PELLUCID_THREADS", "5")
    monkeypatch.setenv("PELLUCID_CACHE_BYTES", "2GiB")
    loaded = settings.load(threads=7, cache_bytes=None)
    assert (loaded.threads, loaded.cache_bytes, loaded.device) == (7, 2 * GIB, "cpu")


def test_named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site.toml"
    file.write_text('device = "cuda:1"\nkernel_folder = "compiled"\ncache_folder = "~/scratch"\n')
    monkeypatch.setenv("PELLUCID_CONFIG", str(file))
    loaded = settings.load()
    assert settings.config_file() == file
    assert loaded.device == "cuda:1"
    assert loaded.kernel_folder == tmp_path / "compiled"
    assert loaded.cache_folder == Path.home() / "scratch"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20GiB", 20 * GIB),
        ("512MB", 512_000_000),
        ("1.5 gib", 3 * GIB // 2),
        ("64k", 65536),
        (4096, 4096),
        ("7 B", 7),
        # Exact where a float would not be.
        ("9007199254740993", 9007199254740993),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert settings.load(memory_bytes=text).memory_bytes == size


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("cache_bytes", "20 parsecs", "20GiB"),
        ("cache_bytes", 0, "above zero"),
        ("memory_bytes", "-1GiB", "above zero"),
        ("memory_bytes", True, "above zero"),
        ("threads", "many", "whole number from 1"),
        ("threads", 0, "whole number from 1"),
        ("device", "gpu", "cuda:1"),
        ("cache_folder", 3, "a folder path"),
    ],
)
def test_bad_argument_is_named(name: str, value: object, valid: str) -> None:
    with pytest.raises(InvalidInput, match=f"Invalid value .* for the setting {name} .*the argument {name}.*{valid}"):
        settings.load(**{name: value})


def test_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_THREADS", "two")
    with pytest.raises(InvalidInput, match=r"'two' for the setting threads \(from the variable PELLUCID_THREADS\)"):
        settings.load()


def test_bad_value_in_the_file_names_the_file(bare: Path) -> None:
    bare.write_text("threads = 0.5\n")
    with pytest.raises(InvalidInput, match=rf"Invalid value 0.5 for the setting threads \(from {bare}\)"):
        settings.load()


def test_unknown_names_are_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"Unknown setting 'thread' in .*Valid settings: cache_folder, .*threads"):
        settings.load(thread=2)
    monkeypatch.setenv("PELLUCID_THREAD", "2")
    with pytest.raises(
        InvalidInput, match=r"Unknown setting 'PELLUCID_THREAD' in .*Valid settings: .*PELLUCID_THREADS"
    ):
        settings.load()
    monkeypatch.delenv("PELLUCID_THREAD")
    bare.write_text("colour = 1\n")
    with pytest.raises(InvalidInput, match=rf"Unknown setting 'colour' in {bare}"):
        settings.load()


def test_broken_and_missing_files(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write_text("threads = \n")
    with pytest.raises(InvalidInput, match=rf"{bare} is not TOML: .*line 1"):
        settings.load()
    monkeypatch.setenv("PELLUCID_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(InvalidInput, match=r"absent.toml does not exist\. Correct or unset PELLUCID_CONFIG"):
        settings.load()


def test_use_reaches_other_threads() -> None:
    seen: list[settings.Settings] = []
    chosen = settings.load(threads=11)
    before = settings.current()
    with settings.use(chosen):
        thread = threading.Thread(target=lambda: seen.append(settings.current()))
        thread.start()
        thread.join()
    assert seen == [chosen]
    assert settings.current() is before


def machine(root: Path, cgroup: str, available: int = 8 * GIB, **files: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: {10 * GIB // 1024} kB\nMemAvailable: {available // 1024} kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_memory_without_limits(tmp_path: Path) -> None:
    root = machine(tmp_path / "m", "0::/\n")
    assert settings.total_memory_bytes(root) == 10 * GIB
    assert settings.available_memory_bytes(root) == 8 * GIB


def test_memory_of_a_limited_group(tmp_path: Path) -> None:
    # The job has no limit of its own, its parent has; 1.5 GiB of what the parent uses is file cache.
    root = machine(
        tmp_path / "m",
        "0::/slurm/job\n",
        slurm__job__memory_dot_max="max\n",
        slurm__job__memory_dot_current="5\n",
        slurm__memory_dot_max=f"{4 * GIB}\n",
        slurm__memory_dot_current=f"{3 * GIB}\n",
        slurm__memory_dot_stat=f"anon 7\ninactive_file {GIB}\nactive_file {GIB // 2}\ninactive_anon 9\n",
    )
    assert settings.total_memory_bytes(root) == 4 * GIB
    assert settings.available_memory_bytes(root) == 5 * GIB // 2


def test_memory_of_an_old_style_group(tmp_path: Path) -> None:
    root = machine(
        tmp_path / "m",
        "4:cpu:/a\n3:memory:/a\n",
        memory__a__memory_dot_limit_in_bytes=f"{2 * GIB}\n",
        memory__a__memory_dot_usage_in_bytes=f"{GIB}\n",
        # Those without total_ leave out the groups below this one.
        memory__a__memory_dot_stat=(
            f"inactive_file 1\nactive_file 2\ntotal_inactive_file {GIB // 4}\ntotal_active_file {GIB // 4}\n"
        ),
    )
    assert settings.available_memory_bytes(root) == 3 * GIB // 2


def test_more_cache_than_use_is_no_negative_use(tmp_path: Path) -> None:
    # The two files are read one after the other, and do not have to agree.
    root = machine(
        tmp_path / "m",
        "0::/\n",
        memory_dot_max=f"{2 * GIB}\n",
        memory_dot_current=f"{GIB}\n",
        memory_dot_stat=f"inactive_file {GIB}\nactive_file {GIB}\n",
    )
    assert settings.available_memory_bytes(root) == 2 * GIB


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_folders_of_the_settings_are_their_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "home" / ".cache" / "pellucid" / "kernels"
    before = os.umask(umask)
    try:
        (tmp_path / "home").mkdir(mode=0o755)
        home_mode = (tmp_path / "home").stat().st_mode
        assert settings.make_private_folder(folder) == settings.make_private_folder(folder) == folder
    finally:
        os.umask(before)
    made = [folder, *folder.parents[:2]]
    assert [one.stat().st_mode & 0o777 for one in made] == [0o700] * 3
    assert (tmp_path / "home").stat().st_mode == home_mode  # What was there stays as it is.


def test_a_file_is_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        settings.make_private_folder(tmp_path / "file")


def test_what_programs_leave_behind_is_their_owners_alone(tmp_path: Path) -> None:
    """Kernels are run, and records of viewers are believed: with a umask of 0 others could have put some there."""
    source = """
import os
os.umask(0)
import numpy as np
from pathlib import Path
from pellucid.device import runtime
from pellucid.formats.location import Location
from pellucid.instance.lifecycle import viewer_records
from pellucid.volume import cache
runtime.start()
np.save("here.npy", np.zeros((2, 2, 2)))
cache.store(Location.parse("here.npy"), "ranges", (np.zeros(2), np.zeros(2)))
viewer_records.write(viewer_records.ViewerRecord.of_this_process("http://x/", "token", "root"))
print(oct(Path("cache/pellucid/kernels").stat().st_mode), oct(Path("cache/pellucid/statistics").stat().st_mode))
print(oct(Path("state/pellucid/instances").stat().st_mode))
"""
    (tmp_path / "home").mkdir()
    environment = {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0o40700"] * 3, done.stderr
    made = [tmp_path / name for name in ("cache", "cache/pellucid", "state", "state/pellucid")]
    assert [oct(one.stat().st_mode) for one in made] == ["0o40700"] * 4
