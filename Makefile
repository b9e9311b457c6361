# Two commands matter: `make reproduce` and `make test`.
# Both create .venv and install the versions in constraints.txt.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
PRESET ?= paper
FOLDER ?= reproduction
EXTRAS := test,dev,cluster,gym,docs,browser
CHECKED := test,dev,docs,browser
COMMA := ,

# Tests write and sync thousands of small files, which takes no time in memory. If there is too little memory, they use
# the usual folder for temporary files.
SCRATCH := $(shell [ -w /dev/shm ] && [ "$$(df -k --output=avail /dev/shm | tail -n 1)" -gt 4000000 ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")

BIN := $(VENV)/bin
OLDEST := $(VENV)-oldest
export PIP_DISABLE_PIP_VERSION_CHECK := 1

unexport PYTHONDONTWRITEBYTECODE # without bytecode, pytest would rewrite every test module again in every process

.PHONY: help reproduce test test-full bounds oldest browser lint format build wheel docs site installed verdicts pictures constraints clean

help:
	@echo "make reproduce    run the reproduction into $(FOLDER)/  (PRESET=smoke|quick|paper, FOLDER=...)"
	@echo "make test         run every test  (JOBS=$(JOBS) processes)"
	@echo "make test-full    run every test in full: all combinations, kills and simulations"
	@echo "make bounds       run the tests of the engine with bounds checks"
	@echo "make oldest       test the package with the lowest versions of its dependencies that pyproject.toml allows"
	@echo "make browser      test the page of berlyne watch in Chromium, which must be installed"
	@echo "make lint         check style and types"
	@echo "make format       format the code"
	@echo "make build        build the wheel and the sdist into dist/"
	@echo "make wheel        build, and try the wheel in an empty environment"
	@echo "make docs         serve the documentation, and rebuild it when a page changes"
	@echo "make site         build the documentation into site/; warnings are errors"
	@echo "make verdicts     run the reproduction, and copy its verdicts to the documentation"
	@echo "make pictures     redraw the pictures in docs/images/ with Chromium, which must be installed"
	@echo "make constraints  pin the newest versions in constraints.txt"
	@echo "make clean        remove $(VENV)/, $(OLDEST)/, dist/ and caches"

reproduce: $(VENV)/installed-run
	$(BIN)/berlyne reproduce --preset $(PRESET) "$(FOLDER)"

# QuantEcon, which some tests compare with, compiles and caches code when it is first imported. If two processes do this
# at the same time, the cache can be damaged and crash every later process. So one process does it before the tests.
#
# The processes get consecutive tests in blocks, so that each fixture of a module or of a folder is built in one process.
# `--dist loadgroup` does not guarantee more: with pytest 9.2 it ignores its groups, and it hands out tests one by one.
test: $(VENV)/installed-test
	$(BIN)/python -c "import quantecon"
	TMPDIR=$(SCRATCH) $(BIN)/python -m pytest -n $(JOBS) $(OPTIONS)

# Tests of all strategies in all worlds run in `make test` until every pair of utility, method, choice rule and world has
# occurred (tests/pairwise.py), and tests of kills, damage and simulations do less (tests/amounts.py). Here they run in full.
test-full: OPTIONS += --full
test-full: test

# Tests of the page of `berlyne watch` in Debian's Chromium. The other tests need no browser.
browser: $(VENV)/installed-test $(VENV)/installed-browser
	TMPDIR=$(SCRATCH) $(BIN)/python -m pytest -q tests/browser

# Kernels do no bounds checks. Here they do, in a separate cache, because cached code does not record this option.
bounds: $(VENV)/installed-test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/bounds-checked" $(BIN)/python -m pytest -n $(JOBS) -q \
		tests/parity/test_engine_against_twin.py tests/parity/test_action_values.py tests/parity/test_long_runs.py \
		tests/parity/test_ends_and_masks.py tests/parity/test_large_worlds.py tests/parity/test_open_exploration.py \
		tests/unit/engine tests/unit/test_tasks.py tests/unit/agents tests/unit/strategies/test_indices.py

# Test the lower bounds of pyproject.toml. Plain pip with one constraint `name==lowest` for each bound is stricter than a
# resolver that prefers low versions (uv), because it also fails if two bounds exclude each other. The package is
# installed, not linked, so that its compiled code is cached in this environment and not beside the sources.
oldest: $(OLDEST)/installed
	$(OLDEST)/bin/python -m pip install -q --no-build-isolation --no-deps --force-reinstall .
	$(OLDEST)/bin/python -I tests/oldest/check.py $(OLDEST)/lowest.txt

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

build: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation

wheel: build
	PYTHON=$(PYTHON) .ci/wheel

# The variable hides the note of Material about its successor. constraints.txt pins the version that we use.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

site: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Install all extras first, so that targets that run in parallel install nothing. Two pips at once can fail.
installed: $(VENV)/installed-$(CHECKED)
	@touch $(addprefix $(VENV)/installed-,$(subst $(COMMA), ,$(CHECKED)))

verdicts: reproduce
	$(BIN)/python docs/build.py "$(FOLDER)"

# The pictures that are committed. The build of the site draws all of them again except watch.png.
pictures: $(VENV)/installed-docs $(VENV)/installed-browser
	$(BIN)/python docs/images/make.py
	$(BIN)/python docs/images/watch.py

constraints:
	fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && $(PYTHON) -m venv "$$fresh" && \
	"$$fresh/bin/python" -m pip install -q hatchling editables ".[$(EXTRAS)]" && \
	"$$fresh/bin/python" -m pip freeze --exclude berlyne > "$$fresh/pins" && \
	{ grep '^#' constraints.txt; cat "$$fresh/pins"; } > "$$fresh/all" && cp "$$fresh/all" constraints.txt

clean:
	rm -rf $(VENV) $(OLDEST) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp file per extra. A change of the requirements installs it again. The build backend is installed first,
# because isolated builds ignore constraints.txt.
$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt hatchling editables
	$(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation -e ".$(if $(filter run,$*),,[$*])"
	@touch $@

$(OLDEST)/installed: pyproject.toml constraints.txt tests/oldest/lowest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/oldest/lowest.py gym parquet cluster serve > $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pip install -q -c constraints.txt hatchling
	$(OLDEST)/bin/python -m pip install -q -c $(OLDEST)/lowest.txt --only-binary :all: --no-build-isolation ".[gym,parquet,cluster,serve]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("berlyne needs Python 3.11 or later; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
