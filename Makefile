# `make demo` and `make test` need Python 3.11 or newer, git and make, and nothing else.
PYTHON ?= $(shell command -v python3.12 || command -v python3.11 || command -v python3)
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

.PHONY: demo test laws lint check bench reproduce clean

demo: $(STAMP)  ## train on handwritten digits, score the machine, draw pictures
	$(BIN)/harmonium train digits --hidden 64 --out runs/demo --overwrite

test: $(STAMP)  ## the tests, with a pairwise cover of the laws' combinations
	$(BIN)/python -m pytest -q

laws: $(STAMP)  ## every law over all combinations and ten seeds; takes an hour or two
	HARMONIUM_LAWS=all $(BIN)/python -m pytest -q tests/laws

lint: $(STAMP)  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(STAMP)  ## training speed against scikit-learn and the machine's own ceiling
	$(BIN)/python benchmarks/speed.py

reproduce: $(STAMP)  ## published runs, made again; needs HARMONIUM_DATA
	$(BIN)/python benchmarks/published.py shark --seeds 20
	$(BIN)/python benchmarks/published.py sm08
	$(BIN)/python benchmarks/published.py pydeep --seeds 10

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "harmonium needs Python 3.11 or newer; found $(PYTHON). Set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:  ## remove the environment and the runs
	rm -rf $(VENV) runs
