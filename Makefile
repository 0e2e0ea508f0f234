# Every target works alone in a fresh clone: it makes .venv first if that is missing or older than pyproject.toml.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Three processes on two cores: for a third of their time tests wait, for a deadline, a lease, another process.
WORKERS ?= $(shell echo $$((3 * $$(nproc 2>/dev/null || echo 2) / 2)))
# Slow tests wait longer, for browsers, servers and databases.
SLOW_WORKERS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))
# Python and pytest keep what they compiled, also where the environment says otherwise: else each worker
# compiles the tests again, which takes 11 of 19 s of its collection.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest
# Tests of `make test-times`.
TESTS ?= not slow

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One stamp per set of extras, so that the demo needs no developer tools and set-up runs once.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "asyncguard needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Say: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/library: $(VENV)/made pyproject.toml
	$(PIP) install --editable .
	@touch $@

$(VENV)/dev: $(VENV)/made pyproject.toml
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/library

$(VENV)/performance: $(VENV)/made pyproject.toml
	$(PIP) install --editable '.[performance]'
	@touch $@ $(VENV)/library

$(VENV)/docs: $(VENV)/made pyproject.toml
	$(PIP) install --editable '.[docs]'
	@touch $@ $(VENV)/library

# Everything at once: each of the three runs above resolves its requirements and builds asyncguard again. Python compiles
# what it imports; to compile the rest, too, takes a quarter of the time.
.PHONY: setup-all
setup-all: $(VENV)/made
	$(PIP) install --no-compile --editable '.[dev,performance,docs]'
	@touch $(VENV)/library $(VENV)/dev $(VENV)/performance $(VENV)/docs

.PHONY: setup test slow full test-times demo results results-foreign results-missions lint types contracts check performance reliability docs clean
setup: $(VENV)/dev $(VENV)/performance ## Set up for development, and run nothing

test: $(VENV)/dev ## Set up and run the fast tests
	$(PYTEST) -m "not slow" -n $(WORKERS) --dist loadfile

# Hypothesis tries an eighth of its examples in the fast tests, and all of them here (tests/support/examples.py).
slow: $(VENV)/dev ## Run the slow tests, and those of hypothesis with all examples
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "(slow or hypothesis) and not full" -n $(SLOW_WORKERS) --dist loadfile

full: $(VENV)/dev ## Run the longest tests (an hour)
	$(PYTEST) -m full -n 2

test-times: $(VENV)/dev ## Run the fast tests and print the slowest and the time per file (TESTS="slow and not full": of the slow)
	-$(PYTEST) -m "$(TESTS)" -n $(WORKERS) --dist loadfile --quiet --junitxml=build/tests.xml
	$(BIN)/python benchmark/code_metrics/durations.py build/tests.xml

demo: $(VENV)/library ## Set up and show the same agents unguarded and guarded
	rm -rf demo-report/episodes  # played by an older checkout, perhaps
	$(BIN)/asyncguard bench demo

# Goes on where it was interrupted; remove runs/ to begin anew.
results: $(VENV)/library ## Play the design of benchmark/RESULTS.md and write it (under half an hour; resumable)
	$(BIN)/asyncguard bench results --design benchmark/design.json --out benchmark/RESULTS.md

# The package is Python code of other authors, and runs in bounded processes: see `asyncguard bench adapt bfcl --help`.
results-foreign: $(VENV)/library ## Play the design of benchmark/RESULTS-foreign.md on tasks of others (downloads bfcl-eval)
	$(BIN)/python -m pip --disable-pip-version-check --quiet download --no-deps --dest build/packages bfcl-eval==2026.3.23
	$(BIN)/python -m pip --disable-pip-version-check --quiet install mpmath  # one of its classes needs it
	$(BIN)/asyncguard bench results --design benchmark/design-foreign.json --run-foreign-code --out benchmark/RESULTS-foreign.md

results-missions: $(VENV)/library ## Play the design of benchmark/RESULTS-missions.md and write it (10 minutes; resumable)
	$(BIN)/asyncguard bench missions results --out benchmark/RESULTS-missions.md

lint: $(VENV)/dev ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff check --select E501 --config 'lint.pycodestyle.max-line-length = 100' asyncguard
	$(BIN)/ruff format --check .

types: $(VENV)/dev $(VENV)/performance ## Check types, those of the comparison with other runtimes too
	$(BIN)/mypy

contracts: $(VENV)/dev ## Check that imports go downwards only
	$(BIN)/lint-imports

check: lint types contracts test ## Everything fast

performance: $(VENV)/performance ## Compare time, bytes and makespan with other runtimes
	$(BIN)/python benchmark/performance/run.py

# Goes on where it was interrupted; remove runs/reliability to begin anew.
reliability: $(VENV)/dev ## Kill agents at every point and judge what is left (30 minutes); writes docs/reliability.md
	$(BIN)/python benchmark/reliability/run.py --write

docs: $(VENV)/docs ## Build the documentation as a site, warnings are errors (build/site)
	$(BIN)/sphinx-build -q -W --keep-going -c docs . build/site
	@echo "build/site/docs/index.html"

clean: ## Remove the environment, builds and caches
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
