# Two commands set everything up on a machine with Python >= 3.11, pip and make:
#   make demo    runs the main job on a simulated model: no key, no network service
#   make test    lint, types, the import rule, and all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint types imports unit docs bench stats soak test-clients test-browser clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "passhat needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[examples]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(PIP) install -c constraints.txt -r requirements-dev.txt -e '.[all]'
	@touch $@

demo: $(VENV)/.run ## run the support-desk suite on its simulated model and show the report
	@bash scripts/demo

test: $(VENV)/.dev lint types imports unit ## everything a commit must pass

lint: $(VENV)/.dev ## style
	$(BIN)/ruff check --output-format concise .
	$(BIN)/ruff format --check -q .

types: $(VENV)/.dev ## strict types, source and tests
	$(BIN)/mypy

imports: $(VENV)/.dev ## the floors of the house
	$(BIN)/lint-imports

unit: $(VENV)/.dev ## tests and doctests, with coverage of the rooms that must have it
	@bash scripts/test

test-long: $(VENV)/.dev ## whole examples at their full size, of which `make test` runs a small form
	$(BIN)/python -m pytest -q -m long -n 2 tests

docs: $(VENV)/.dev ## build the documentation; a warning is an error
	$(BIN)/python -m doctest scripts/doc_examples.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q -d site

bench: $(VENV)/.dev ## speed, as ratios within one run
	@bash scripts/bench

stats: $(VENV)/.dev ## the long simulations of coverage and error rates
	$(BIN)/python -m pytest -q -m slow -n 2 tests

test-clients: ## the official clients, in Python and Node, against the gateway
	@bash scripts/test-clients

test-browser: $(VENV)/.dev ## pages in a real browser
	$(BIN)/python -m pytest -q -m browser tests

soak: $(VENV)/.dev ## random kills of a run, with resume
	$(BIN)/python scripts/soak.py

clean: ## remove what the targets made
	rm -rf $(VENV) .venv-clients site dist build .coverage* htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
