#!/usr/bin/env bash
# Everything that can be said about the code without running the product. Called by `make check`.
# All steps run, so that one run shows everything that is wrong.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
step() {
    local name=$1
    shift
    "$@" || failed+=("$name")
}

step format .venv/bin/ruff format --check --quiet .
step lint .venv/bin/ruff check --quiet .
step types .venv/bin/mypy src tests benchmarks examples tools
step layers .venv/bin/python -m pytest --quiet --no-header tests/test_layers.py
step style .venv/bin/python -m pytest --quiet --no-header tests/test_style.py

step page-types .venv/bin/python tools/build_page.py npm run --silent types
step page-lint .venv/bin/python tools/build_page.py npm run --silent lint -- --quiet

# A generator is a script tools/generate_*.py that, with --check, fails when what it generates is stale.
shopt -s nullglob
for generator in tools/generate_*.py; do
    step "$generator" .venv/bin/python "$generator" --check
done

if ((${#failed[@]})); then
    echo "check: failed: ${failed[*]}" >&2
    exit 1
fi
echo "check: all good"
