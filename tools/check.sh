#!/usr/bin/env bash
# Everything that can be said about the code without running the product. Called by `make check`.
set -euo pipefail
cd "$(dirname "$0")/.."

.venv/bin/ruff format --check --quiet . || { echo "check: run .venv/bin/ruff format ." >&2; exit 1; }
.venv/bin/ruff check --quiet .
.venv/bin/mypy src tests benchmarks examples tools
.venv/bin/python -m pytest --quiet --no-header tests/test_layers.py tests/test_style.py

# A generator is a script tools/generate_*.py that, with --check, fails when what it generates is stale.
shopt -s nullglob
for generator in tools/generate_*.py; do
    .venv/bin/python "$generator" --check || { echo "check: run .venv/bin/python $generator" >&2; exit 1; }
done
