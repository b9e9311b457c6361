# Two commands matter: `make reproduce` and `make test`.
# Both make .venv and install what they need, with the versions of constraints.txt.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
PRESET ?= paper
FOLDER ?= reproduction
EXTRAS := test,dev,cluster,gym,docs,browser

BIN := $(VENV)/bin
OLDEST := $(VENV)-oldest
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help reproduce test bounds oldest browser lint format build docs site installed verdicts pictures constraints clean

help:
	@echo "make reproduce    run the reproduction into $(FOLDER)/  (PRESET=smoke|quick|paper, FOLDER=...)"
	@echo "make test         run every test  (JOBS=$(JOBS) processes)"
	@echo "make bounds       run the tests of the engine once more, with every index checked"
	@echo "make oldest       use the package with the lowest versions of its dependencies that pyproject.toml allows"
	@echo "make browser      look at the page that replays exploration with Chromium, which must be installed"
	@echo "make lint         check style and types"
	@echo "make format       put the code into the style"
	@echo "make build        build the wheel and the sdist into dist/"
	@echo "make docs         serve the documentation, and build it again when a page changes"
	@echo "make site         build the documentation into site/; a warning is an error"
	@echo "make verdicts     run the reproduction, and keep its verdicts for the documentation"
	@echo "make pictures     draw the pictures in docs/images/ again; needs Chromium, which must be installed"
	@echo "make constraints  pin the newest versions in constraints.txt"
	@echo "make clean        remove $(VENV)/, $(OLDEST)/, dist/ and caches"

reproduce: $(VENV)/installed-run
	$(BIN)/berlyne reproduce --preset $(PRESET) "$(FOLDER)"

# QuantEcon, an oracle, compiles and caches parts of itself when it is first imported. Two processes that do so at once
# can leave a cache that ends every later one, so one does it before the tests begin.
test: $(VENV)/installed-test
	$(BIN)/python -c "import quantecon"
	$(BIN)/python -m pytest -n $(JOBS)

# The page of `berlyne watch`, in Debian's Chromium; apart from the other tests, which need no browser.
browser: $(VENV)/installed-test $(VENV)/installed-browser
	$(BIN)/python -m pytest -q tests/browser

# Kernels follow indices without looking; here they look. Compiled apart, because cached code does not say which it is.
bounds: $(VENV)/installed-test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/bounds-checked" $(BIN)/python -m pytest -n $(JOBS) -q \
		tests/parity/test_engine_against_twin.py tests/parity/test_action_values.py tests/parity/test_long_runs.py \
		tests/unit/engine tests/unit/test_tasks.py tests/unit/agents/test_open_state_agent.py

# Lower bounds are claims. Plain pip with one constraint `name==lowest` for each bound is stricter than a resolver that
# looks for low versions (uv): it also fails if two bounds exclude each other. The package is installed, not linked, so
# that its compiled code is cached in this environment and not beside the sources.
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

# Material says at every start that it has a successor; constraints.txt pins what is used here.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

site: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# All extras at once, so that what is made side by side need not install anything: pip is no good at that.
installed: $(VENV)/installed-test $(VENV)/installed-dev $(VENV)/installed-docs $(VENV)/installed-browser

verdicts: reproduce
	$(BIN)/python docs/build.py "$(FOLDER)"

# Those that the README and the pages show in the repository; the site draws its own, but for that of the page.
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

# One stamp per extra; a change of the requirements installs again. The build backend is installed first,
# pinned like everything else, because isolated builds do not read constraints.
$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -c constraints.txt hatchling editables
	$(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation -e ".$(if $(filter run,$*),,[$*])"
	@touch $@

$(OLDEST)/installed: pyproject.toml constraints.txt tests/oldest/lowest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/oldest/lowest.py gym parquet cluster > $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pip install -q -c constraints.txt hatchling
	$(OLDEST)/bin/python -m pip install -q -c $(OLDEST)/lowest.txt --only-binary :all: --no-build-isolation ".[gym,parquet,cluster]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("berlyne needs Python 3.11 or later; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
