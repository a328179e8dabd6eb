#!/usr/bin/env bash
# Everything that can be said about the code without running the product. Called by `make check`.
# All steps run, several at once, so that one run shows everything that is wrong.
set -uo pipefail
cd "$(dirname "$0")/.."

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
names=()

# step NAME COMMAND...: start it; what it prints is shown when all have ended.
step() {
    local at="$results/${#names[@]}"
    names+=("$1")
    shift
    { "$@" >"$at.output" 2>&1; echo $? >"$at.status"; } &
}

page() {
    local status=0
    .venv/bin/python tools/build_page.py npm run --silent types || status=1
    .venv/bin/python tools/build_page.py npm run --silent lint -- --quiet || status=1
    return $status
}

step types .venv/bin/mypy src tests benchmarks examples tools
step page page
step layers-and-style .venv/bin/python -m pytest --quiet --no-header -p no:cacheprovider tests/test_layers.py tests/test_style.py
step format .venv/bin/ruff format --check --quiet .
step lint .venv/bin/ruff check --quiet .

# A generator is a script tools/generate_*.py that, with --check, fails when what it generates is stale.
shopt -s nullglob
for generator in tools/generate_*.py; do
    name=$(basename "$generator" .py)
    step "$generator" .venv/bin/python -m "tools.$name" --check
done

wait
failed=()
for index in "${!names[@]}"; do
    cat "$results/$index.output"
    [[ $(cat "$results/$index.status") == 0 ]] || failed+=("${names[index]}")
done
if ((${#failed[@]})); then
    echo "check: failed: ${failed[*]}" >&2
    exit 1
fi
echo "check: all good"
