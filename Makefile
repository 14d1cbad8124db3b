# Every target makes what it needs. On a machine with the environment in place, that takes no time.

PYTHON ?= python3.11
VENV   ?= .venv
# Fixed, so that a plain `torch` doesn't bring gigabytes of GPU libraries, and results can be compared.
TORCH  ?= torch==2.13.0
JOBS   ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: test test-opsets lint format demo bench clean

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(JOBS)

# All operator cases at all opsets; long.
test-opsets: $(VENV)/.ready
	ONNXPORT_TEST_OPSETS=all $(BIN)/python -m pytest -n $(JOBS) tests/ops

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix src tests examples benchmarks
	$(BIN)/ruff format src tests examples benchmarks

demo: $(VENV)/.ready-demo
	$(BIN)/python examples/demo

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/write_cost.py

clean:
	rm -rf $(VENV) build dist

$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "$(TORCH)"
	$(PIP) "$(TORCH)" -e ".[verify,test,lint]"
	# pip compiles what it installs, but not this: each process would.
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.ready-demo: $(VENV)/.ready examples/demo/requirements.txt examples/demo/requirements-no-deps.txt
	$(PIP) "$(TORCH)" -r examples/demo/requirements.txt
	$(PIP) --no-deps -r examples/demo/requirements-no-deps.txt
	touch $@
