"""The page's own tests, which stand beside its files, and what it is built from."""

import json
import subprocess
import sys

from tests.suite_report import ROOT

WEB = ROOT / "web"
TOOL = ROOT / "tools" / "build_page.py"


def test_the_tests_beside_the_files_pass() -> None:
    command = [sys.executable, str(TOOL), "npm", "run", "--silent", "test"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_lock_names_no_place() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []


def test_files_are_short_and_say_what_is_here() -> None:
    files = [path for path in sorted((WEB / "src").rglob("*.ts*")) if path.name != "protocol.ts"]
    assert [str(path) for path in files if len(path.read_text().splitlines()) >= 400] == []
    sources = [path for path in files if ".test." not in path.name and path.name != "main.tsx"]
    assert [str(path.relative_to(WEB)) for path in sources if not path.read_text().startswith("//")] == []
