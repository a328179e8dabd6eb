"""Sizes and times on the command line mean the same to every command."""

import argparse

import pytest

from pellucid.cli.arguments import bytes_argument, time_argument
from pellucid.cli.main import main
from pellucid.errors import MissingPackage
from pellucid.settings import parse_size


@pytest.mark.parametrize("text", ["4096", "131kB", "1MB", "1M", "1.5MiB", "2GiB"])
def test_sizes_are_those_of_settings(text: str) -> None:
    assert bytes_argument(text) == parse_size(text)


@pytest.mark.parametrize("text", ["plenty", "-1", "", "1.2.3MB", "9" * 400, "1e400"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size"):
        bytes_argument(text)


@pytest.mark.parametrize(("text", "seconds"), [("60", 60), ("60s", 60), ("5min", 300), ("1.5m", 90), ("2h", 7200)])
def test_times(text: str, seconds: float) -> None:
    assert time_argument(text) == seconds


@pytest.mark.parametrize("text", ["soon", "5 days", "-1s", ".", "1.2.3"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a time"):
        time_argument(text)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--memory", "plenty", "echo"],
        ["transport", "check", "--size", "plenty"],
        ["compress", "a.npy", "-o", "a.plf", "--size", "plenty"],
    ],
)
def test_every_command_says_so(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(command)
    assert "'plenty' is not a size" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid.cli.optional_packages import requires_extra

    with pytest.raises(MissingPackage, match=r"torch is not installed.*pellucid\[learn\]"), requires_extra("learn"):
        raise ModuleNotFoundError(name="torch")
    with pytest.raises(ModuleNotFoundError), requires_extra("learn"):
        raise ModuleNotFoundError(name="pellucid.missing")
