# What people do here. `make` alone lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup check test demo dist bench pin clean

BIN := .venv/bin
TIMES := build/times
# Kernels compiled once serve the whole run, and the next one.
export PELLUCID_KERNEL_FOLDER ?= $(CURDIR)/.kernels
export PYTHONUNBUFFERED := 1
# Compiled Python is kept too, whatever the environment says: tests start hundreds of processes that would compile it anew.
export PYTHONDONTWRITEBYTECODE :=
# Worker processes for the tests, one for each core at most; 0 runs them in this one.
TEST_WORKERS ?= 2
# Tests that check has run already.
CHECKED := tests/test_layers.py tests/test_style.py
# Tests that failed run once more, alone and in one process: a port was taken, a browser lost a frame beside other work.
# A fault of ours fails again. Both runs list what failed.
SECOND_TRY = { [[ $$? == 1 ]] && echo "make test: what failed runs once more, alone" && \
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

# timed(NAME, COMMAND): run it, and leave the seconds it took where the table of times finds them.
timed = @mkdir -p $(TIMES) && start=$$(date +%s.%N) && { $(2); } && \
	awk "BEGIN { print $$(date +%s.%N) - $$start }" > $(TIMES)/$(1)

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: ## make .venv with everything that tests need (quick when nothing changed)
	$(call timed,set-up,tools/setup.sh dev)

check: setup ## formatting, lint, types, layers, style, generated files
	$(call timed,check,tools/check.sh)

test: setup check ## set up, check, and run every test; prints the time of each layer
	@SUITE_TIMES=$(TIMES) $(BIN)/python -m pytest --numprocesses $(TEST_WORKERS) $(CHECKED:%=--deselect=%) || $(SECOND_TRY)

demo: ## install, simulate a scan, reconstruct it and open it in the viewer; DEMO=--headless saves an image and stops
	@tools/setup.sh
	@$(BIN)/pellucid demo --output demo-output $(DEMO)

dist: ## build the sdist and the wheel, with the viewer's page inside, into dist/
	@tools/setup.sh
	@$(BIN)/python -m hatchling build --target sdist --target wheel

bench: ## every benchmark beside its peers; tables go to benchmarks/results
	@tools/setup.sh dev,bench
	@$(BIN)/python -m benchmarks.run_all $(BENCH)

pin: setup ## write constraints.txt anew after a change of dependencies
	@$(BIN)/python tools/pin.py

clean: ## remove everything that make made
	rm -rf .venv .kernels build dist demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
