# `make demo` and `make test` need Python 3.11 or newer, git and make, and nothing else.
# The first Python on PATH that runs and is new enough: some names may be stubs that do not run.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN = $(VENV)/bin
# Compilation uses one core and takes most of the time, so there is one test process per core.
LAWS ?= all
SEEDS ?= 0-9
PARALLEL ?= --numprocesses auto --dist worksteal
PAGES = $(wildcard tests/test_*page.py) tests/test_readme.py tests/test_how_to.py \
  tests/test_end_to_end.py tests/sklearn/test_checks.py src/harmonium
ROBUST = tests/hostile tests/test_sharding.py tests/runs/test_faults.py tests/runs/test_tune.py \
  tests/runs/test_distributed.py tests/test_thread_pool.py \
  tests/cli/test_tune.py tests/gradients/test_external.py
# Files of which `make laws` runs all cases and other tests some, dealt out.
DEALT = tests/laws tests/test_precision.py tests/test_sharding.py tests/test_couplings.py \
  tests/sklearn/test_checks.py \
  tests/runs/test_distributed.py tests/hostile/test_damage.py tests/diagnostics/test_relaxation.py \
  tests/evaluation/test_pseudo_likelihood.py tests/gradients/test_external.py \
  tests/training/test_compiling.py tests/training/test_ensemble.py
# The part of the slow tests that `make changed` runs: with it, `.ci/run` takes 20 minutes on two slow
# cores, and 10 on two fast ones.
SHARE ?= 0.15
INTEGRATION = tests/cli tests/runs tests/sklearn tests/training
TESTS ?= --ignore=tests/laws --ignore=tests/browser $(addprefix --ignore=,$(INTEGRATION) $(PAGES) $(ROBUST))
# Tests compile many small programs and run each once. So they compile with few optimisations, and
# cache the programs for the other workers and the next run; `make laws` compiles as users do. XLA
# aborts at a flag that it does not know, so tests/quick_flags.py tries each, once per environment.
# NumPy's products have one thread: several wait for each other busily, for products so small, and
# a logistic regression takes 0.1 s of a core with one but 3 s with two.
# Not --xla_cpu_opt_preset=FAST_COMPILE, which would save a tenth: that of JAX 0.12 draws wrong states.
QUICK ?= --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 \
	--xla_cpu_use_fusion_emitters=false
quickly = XLA_FLAGS="$$(cat $(1)/.quick)" JAX_COMPILATION_CACHE_DIR="$$(cd $(1) && pwd)/.compiled" \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=0 \
	JAX_TRACEBACK_IN_LOCATIONS_LIMIT=1 OPENBLAS_NUM_THREADS=1 HARMONIUM_CACHE=off

INTERFACES ?= .venv-interfaces
BACKENDS ?= tensorflow jax torch
TORCH ?= torch==2.13.0

OLDEST ?= .venv-oldest
OLDEST_PYTHON ?= python3.11

RACE ?= .venv-race

DOCS ?= .venv-docs

MNIST ?= runs/mnist-record

.PHONY: demo test integration pages robust docs package cover all changed nightly laws interfaces keras oldest newest newest-part lint check bench mnist reproduce clean

demo: $(VENV)/.base  ## train on handwritten digits, score the model, draw pictures
	$(BIN)/harmonium train digits --hidden 64 --out runs/demo --overwrite

test: $(VENV)/.quick  ## the tests of parts: layers, samplers, gradients, likelihoods, data
	$(call quickly,$(VENV)) $(BIN)/python -m pytest -q $(PARALLEL) $(REPORT) $(TESTS)

integration: TESTS = $(INTEGRATION) $(addprefix --ignore=,$(PAGES) $(ROBUST))
integration: test  ## from end to end: training, runs in folders, the command, scikit-learn's estimators

pages: TESTS = $(PAGES)
pages: test  ## the documentation's code, pages and docstrings, and scikit-learn's own checks

robust: TESTS = $(ROBUST)
robust: test  ## what goes wrong: damaged files, full disks; several devices and processes; searches of options

cover: TESTS = tests/laws
cover: test  ## the property tests (laws), over a part of their combinations

all: TESTS = --ignore=tests/browser
all: test  ## all of these five in one run, which imports and collects once

changed: TESTS = --ignore=tests/browser --share $(SHARE)
changed: test  ## what a change has to pass: the quick tests of all, and a share of the slow ones

# The record says for which files all this has passed, and how long each slow test took.
nightly: REPORT = --junitxml=$(VENV)/nightly.xml -o junit_family=xunit1  # which names the file of each test
nightly: lint all interfaces newest-part package  ## everything on this computer; then records what has passed
	$(MAKE) DOCS=$(INTERFACES) docs
	$(BIN)/python tests/suites.py record $(VENV)/nightly.xml

laws: $(VENV)/.test  ## every law over all combinations and ten seeds; LAWS=dealt SEEDS=3-5 for some
	HARMONIUM_LAWS=$(LAWS) HARMONIUM_SEEDS=$(SEEDS) $(BIN)/python -m pytest -q $(PARALLEL) $(DEALT)

interfaces:  ## TensorFlow, PyTorch and rbms; Keras, once on each backend; reports in a browser
	@$(MAKE) --no-print-directory -j 2 $(addprefix interface-,others browser $(BACKENDS))

keras:  ## the Keras interface, once on each backend
	@$(MAKE) --no-print-directory -j 2 $(addprefix interface-,$(BACKENDS))

others_tests = tests/interfaces/io tests/interfaces/from_scratch
browser_tests = tests/browser
torch_tests = tests/interfaces/keras
tensorflow_tests = $(torch_tests)
jax_tests = $(torch_tests) src/harmonium/keras

# One process per interface, two at a time: two workers for each would import and compile twice.
interface-%: $(INTERFACES)/.quick
	@$(call quickly,$(INTERFACES)) OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 \
	  $(if $(filter $*,$(BACKENDS)),KERAS_BACKEND=$*) $(INTERFACES)/bin/python -m pytest -q $($*_tests) \
	  >$(INTERFACES)/$*.log 2>&1; status=$$?; echo "$*:"; cat $(INTERFACES)/$*.log; exit $$status

# Old pips take the second variable's constraints, of what builds the wheel, from the first one.
oldest: export PYTHON = $(OLDEST_PYTHON)
oldest: export PIP_CONSTRAINT = $(abspath $(OLDEST)/oldest.txt)
oldest: export PIP_BUILD_CONSTRAINT = $(PIP_CONSTRAINT)
oldest:  ## the tests with the oldest Python and the oldest version of each package that are allowed
	@mkdir -p $(OLDEST)
	$(OLDEST_PYTHON) tests/oldest_versions.py >$(PIP_CONSTRAINT)
	$(MAKE) VENV=$(OLDEST) all

newest:  ## the demo and all tests on a newer Debian; needs root on Debian; SUITE=testing for the newest Python
	.ci/newest whole

# Where no other Debian can be installed, the wheel is tried on this one.
newest-part:
	.ci/newest part || { status=$$?; [ $$status = 3 ] || exit $$status; }

docs:  ## the documentation as a site, strictly: docs/_build/html/index.html
	@$(MAKE) --no-print-directory VENV=$(DOCS) $(DOCS)/.docs
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

notebooks:  ## the chapters of the course as notebooks with their outputs: docs/course/notebooks; after a chapter changed
	@$(MAKE) --no-print-directory VENV=$(DOCS) $(DOCS)/.docs
	$(DOCS)/bin/python docs/_programs/notebooks.py

package: $(VENV)/.base  ## build sdist and wheel; install the wheel in an empty environment, train there
	rm -rf dist .venv-package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist . >/dev/null
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd .venv-package && bin/harmonium train bars --epochs 2 --out smoke && bin/harmonium evaluate smoke --quick
	@ls -l dist

lint: $(VENV)/.dev  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(RACE)/.race  ## speed beside other libraries and the computer's own limits, in a separate environment
	$(RACE)/bin/python benchmarks/race
	$(RACE)/bin/python benchmarks/ensembles.py
	$(RACE)/bin/python benchmarks/growth.py

reproduce: $(VENV)/.base $(INTERFACES)/.interfaces  ## reproduce published results, and docs/three_ways.md; needs HARMONIUM_DATA
	$(BIN)/python benchmarks/published.py shark --seeds 20
	$(BIN)/python benchmarks/published.py pydeep --seeds 10
	$(INTERFACES)/bin/python benchmarks/three_ways.py
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/bars.py
	$(BIN)/python benchmarks/coupled.py
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/jumps.py
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/labels.py hybrid
	$(BIN)/python benchmarks/missing_values.py
	$(BIN)/python benchmarks/tables/update_times.py
	$(BIN)/python benchmarks/tables/density.py
	$(BIN)/python benchmarks/density.py --hidden 64 --plain --against
	$(BIN)/python benchmarks/density.py --cuts --peers

mnist: $(RACE)/.race  ## docs/results.md: MNIST, the search, the models and the picture; takes hours; needs HARMONIUM_DATA
	$(RACE)/bin/python benchmarks/mnist.py search
	$(RACE)/bin/python benchmarks/mnist.py train $(MNIST) 2500,500,0.4 5500,500,0.4 7000,500,0.4 \
	  18000,500,0.4 25000,500,0.4 185000,500,0.4 '200,000 updates, L1 5e-5' \
	  '12,000 updates, fixed binarisation, L1 2e-4'
	$(RACE)/bin/python benchmarks/mnist.py peer $(MNIST) scikit-learn --rate 0.01
	$(RACE)/bin/python benchmarks/mnist.py peer $(MNIST) rbms --rate 1 --batch 200
	$(RACE)/bin/python benchmarks/mnist.py score $(MNIST)
	$(RACE)/bin/python benchmarks/mnist.py draw $(MNIST) $(MNIST)/mnist.png

# Environments: only the library for the demo; with tools for tests, for lint, for the site.
$(VENV)/.base: EXTRA =
$(VENV)/.test: EXTRA = [test]
$(VENV)/.dev: EXTRA = [dev]
$(VENV)/.docs: EXTRA = [docs]
$(VENV)/.base $(VENV)/.test $(VENV)/.dev $(VENV)/.docs: pyproject.toml
	@test -n "$(PYTHON)" || { echo "harmonium needs Python 3.11 or newer: set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.$(EXTRA)'
	@touch $@

$(INTERFACES)/.interfaces: pyproject.toml
	$(MAKE) VENV=$(INTERFACES) $(INTERFACES)/.test
	$(INTERFACES)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(INTERFACES)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[tensorflow]' \
	  rbms==0.5.0 'playwright>=1.65' 'axe-core-python>=0.1' 'datasets>=4.0' 'grain>=0.2.12'
	@touch $@

$(RACE)/.race: pyproject.toml
	$(MAKE) VENV=$(RACE) $(RACE)/.base
	$(RACE)/bin/python -m pip install --quiet --disable-pip-version-check scikit-learn $(TORCH) \
	  rbms==0.5.0 learnergy==2.0.2 thrml==0.1.4
	$(RACE)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[tensorflow]'
	@touch $@

# The flags of QUICK that XLA knows in this environment.
$(VENV)/.quick: $(VENV)/.test
$(INTERFACES)/.quick: $(INTERFACES)/.interfaces
$(addsuffix /.quick,$(sort $(VENV) $(INTERFACES))):
	@$(@D)/bin/python tests/quick_flags.py $(QUICK) >$@.part && mv $@.part $@

clean:  ## remove the environments and the runs
	rm -rf $(VENV) $(INTERFACES) $(RACE) $(DOCS) $(OLDEST) docs/_build docs/reference docs/gallery .newest runs
