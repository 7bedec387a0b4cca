# Every target explains itself: `make help`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
.DEFAULT_GOAL := help
.PHONY: help setup demo test e2e check format bench docs lock clean

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(STAMP)  ## create .venv with the locked dependencies and the stromboli command

$(STAMP): requirements/dev.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup  ## start a cluster, submit example gangs, show what happens to them, and stop
	@$(BIN)/stromboli up --nodes 4 -f examples/demo --watch --for 25s

test: setup  ## run the tests
	@$(BIN)/pytest -n 2 --dist worksteal --ignore=tests/e2e

e2e: setup  ## run the e2e tests, also against a real API server, which is built with Go the first time
	@$(BIN)/pytest -n 2 --dist loadfile tests/e2e
	@$(BIN)/python -m testbed.assets
	@STROMBOLI_API_SERVER=real $(BIN)/pytest -n 2 --dist loadfile $(E2E_FLAGS) tests/integration/api_server tests/integration/kubectl tests/integration/scheduler
	@STROMBOLI_API_SERVER=real $(BIN)/pytest $(E2E_FLAGS) tests/e2e

check: setup  ## lint, formatting, types, import contracts and house rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@PYTHONPATH=examples/plugin-package/src $(BIN)/lint-imports --config examples/plugin-package/.importlinter
	@$(BIN)/python tools/house.py

format: setup  ## put the code into the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup  ## run every benchmark; each prints JSON
	@$(BIN)/python -m benchmarks all

docs: setup  ## build the documentation site into site/
	@$(BIN)/python tools/site.py

lock: setup  ## choose the newest dependencies again and lock them with their hashes
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --upgrade pyproject.toml -o requirements/runtime.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --upgrade pyproject.toml --group dev -o requirements/dev.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --upgrade --group build -o requirements/build.lock

clean:  ## remove everything that the targets made
	@rm -rf .venv site dist .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .cache
