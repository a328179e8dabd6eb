"""What happens before a command runs."""

import errno
import importlib

import pytest

from pellucid.cli import main as main_module


def test_an_interruption_while_commands_are_imported_shows_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> object:
        raise KeyboardInterrupt

    main_module._parser.cache_clear()
    monkeypatch.setattr(importlib, "import_module", interrupted)
    try:
        assert main_module.main(["info", "a.npy"]) == main_module.INTERRUPTED
    finally:
        main_module._parser.cache_clear()


def test_a_full_disk_is_named_wherever_it_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Training found it where no file of ours was being written."""
    for error in (OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EDQUOT, "Quota", "/a/net.pt")):
        assert main_module._reply(error) == 1
    said = capsys.readouterr().err
    assert said.count("The disk is full: ") == 2 and "/a/net.pt could not be written" in said
    assert "Free some space" in said and "Errno" not in said
