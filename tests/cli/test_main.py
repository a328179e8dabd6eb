"""What happens before a command runs."""

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
