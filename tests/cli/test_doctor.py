"""``pellucid doctor``: every row has a state and a remedy, and only what is required decides the exit code."""

import argparse
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pellucid import settings
from pellucid.cli.commands import doctor
from pellucid.cli.commands.doctor import ABSENT, BAD, OK, Finding
from pellucid.device import Device

ROOT = Path(__file__).parents[2]
CPU = Device("cpu", "cpu", "Processor", 2**34)


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    doctor.add_parser(parser.add_subparsers())
    return parser.parse_args(["doctor", *arguments])


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse("--json")
    assert options.run(options) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"Python", "cores", "memory", "shared memory", "ports", "cache", "NVIDIA driver", "Warp"} <= set(rows)
    assert rows["kernel on cpu"]["state"] == OK
    assert set(rows["Python"]) == {"name", "state", "detail", "remedy", "is_required"}
    assert all(row["state"] in (OK, ABSENT, BAD) for row in rows.values())
    assert [row["name"] for row in rows.values() if row["state"] != OK and not row["remedy"]] == []


def test_text() -> None:
    findings = [Finding("ports", OK, "loopback works"), Finding("torch", ABSENT, "for training", "pip install torch")]
    assert doctor.text(findings).splitlines() == [
        "ok      ports            loopback works",
        "absent  torch            for training",
        "                         -> pip install torch",
    ]


@pytest.mark.parametrize(
    ("finding", "code"),
    [
        (Finding("kernel", BAD, "", "", is_required=True), 1),
        (Finding("driver", BAD, "", ""), 0),
        (Finding("torch", ABSENT, "", ""), 0),
        (Finding("ports", OK, "", is_required=True), 0),
    ],
)
def test_exit_code(finding: Finding, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", {"one": lambda: [finding]})
    assert doctor.run(parse()) == code


def test_remedies_name_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {extra for part in doctor.PARTS for extra in re.findall(r"pellucid\[(\w+)\]", part.remedy)}
    assert named <= set(project["optional-dependencies"])
    assert {"notebook", "hub", "ucx", "neural"} <= named


@pytest.mark.parametrize("part", [*doctor.PARTS, *doctor.PROGRAMS], ids=lambda part: part.module)
def test_every_part_that_is_recommended_is_used(part: doctor.OptionalComponent) -> None:
    own = Path(str(doctor.__file__))
    others = (path.read_text() for path in (ROOT / "src").rglob("*.py") if path != own)
    use = re.compile(rf"^\s*(import|from) {part.module}\b|[\"\[]{part.module}\"", re.MULTILINE)
    assert any(use.search(text) for text in others)


def test_parts_are_found_without_importing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor,
        "PARTS",
        (
            doctor.OptionalComponent("numpy", "arrays", ""),
            doctor.OptionalComponent("nowhere_to_be_found", "nothing", "pip install it"),
        ),
    )
    monkeypatch.setattr(
        doctor,
        "PROGRAMS",
        (doctor.OptionalComponent("sh", "shell", ""), doctor.OptionalComponent("no-such-program", "x", "get it")),
    )
    present, absent, program, missing = doctor.check_parts()
    assert present.state == program.state == OK
    assert present.detail[0].isdigit()
    assert absent == Finding("nowhere_to_be_found", ABSENT, "for nothing", "pip install it")
    assert missing == Finding("no-such-program", ABSENT, "for x", "get it")


@pytest.mark.parametrize(
    ("version", "state", "text"),
    [
        (None, ABSENT, "everything runs on the CPU"),
        ("570.86.15", BAD, "570.86.15 is too old for this Warp"),
        ("580.65.06", OK, "580.65.06"),
    ],
)
def test_driver(version: str | None, state: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "driver_version", lambda: version)
    (finding,) = doctor.check_driver()
    assert finding.state == state
    assert text in finding.detail
    assert finding.state == OK or "R580 or newer" in finding.remedy


def test_driver_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "driver_version", lambda: "580.65.06")
    monkeypatch.setattr(doctor, "devices", lambda: [CPU])
    monkeypatch.setattr(doctor, "choose", lambda: CPU)
    cpu, cuda = doctor.check_devices()
    assert cpu.detail.startswith("Processor, ")
    assert cpu.detail.endswith("of 16.0 GiB free, the default")
    assert (cuda.name, cuda.state) == ("device cuda", BAD)


def test_a_kernel_that_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(device: Device) -> float:
        raise RuntimeError("no compiler\nmore lines")

    monkeypatch.setattr("pellucid.device.probe.seconds_to_run", fail)
    finding = doctor._kernel(CPU)
    assert (finding.state, finding.detail, finding.is_required) == (BAD, "no compiler", True)


def test_a_bad_setting_is_one_of_the_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings._State, "settings", None)
    monkeypatch.setenv("PELLUCID_THREADS", "none")
    checks = {name: doctor.CHECKS[name] for name in ("Python", "settings")}
    monkeypatch.setattr(doctor, "CHECKS", checks)
    assert doctor.run(parse()) == 1
    printed = capsys.readouterr().out
    assert (
        "bad     settings         Invalid value 'none' for the setting threads (from the variable PELLUCID_THREADS)."
        in printed
    )
    assert "-> Use a whole number from 1." in printed


def test_a_folder_that_takes_no_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    chosen = replace(settings.current(), cache_folder=file / "cache", kernel_folder=tmp_path / "kernels")
    with settings.use(chosen):
        cache, kernels, _ = doctor.check_cache()
    assert (cache.state, cache.remedy) == (BAD, "Set PELLUCID_CACHE_FOLDER to a folder with write permission.")
    assert (kernels.state, kernels.detail) == (OK, f"{tmp_path / 'kernels'}, 0 B used")


def test_fullness(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a").write_bytes(bytes(1024))
    (tmp_path / "b").write_bytes(bytes(1024))
    assert doctor._fullness(tmp_path) == "2.0 KiB used"


def test_small_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(total=64 * 2**20, free=2**20)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    finding = doctor._dev_shm(tmp_path)
    assert (finding.state, finding.detail) == (BAD, "64.0 MiB, 1.0 MiB free; too small for large volumes")
    assert doctor._dev_shm(tmp_path / "absent").state == ABSENT
