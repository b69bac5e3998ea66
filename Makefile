# Two commands do everything on a machine with git, make and Python 3.11 or newer:
#   make demo    triages a real CI failure
#   make test    installs what the tests need and runs them all

# The first of these that runs and is new enough; `make PYTHON=... demo` names another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
TESTS ?= tests
# Tests start processes and wait for them: three workers keep two cores busy.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: demo test lint types stubs mypy pyright docs check bench-check chaos fan-kills hub-ends clean

# In a home of its own beside the sources, so that `cortex trace` finds the execution again.
demo: $(VENV)/.installed
	@test -d .cortex || $(BIN)/cortex init >/dev/null
	@PATH="$(abspath $(BIN)):$$PATH" cortex run triage_ci_failure \
	  -i log=examples/tomlkit-ci-failure.log -i checkout=examples/tomlkit-0.11.8
	@echo; echo 'The command is $(BIN)/cortex; `export PATH="$$PWD/$(BIN):$$PATH"` has it at hand.'

test: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -q $(TESTS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: stubs mypy pyright

stubs: $(VENV)/.installed-dev
	$(BIN)/python dev/stubs.py --check

mypy: $(VENV)/.installed-dev
	$(BIN)/mypy

pyright: $(VENV)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

# The references that are generated; `make docs` writes them, the tests say when they are stale.
docs: $(VENV)/.installed-dev
	$(BIN)/python dev/cli_docs.py
	$(BIN)/python dev/diagnostic_docs.py
	$(BIN)/python dev/event_docs.py
	$(BIN)/python dev/handler_docs.py
	$(BIN)/python dev/surface.py

check: lint types test

# Whether anything has become slow: ours to the bare limit of the same run, by short runs.
bench-check: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/bench_check.py

# 500 kills, 25 in each of 20 homes; one that was interrupted goes on behind its last whole part.
CHAOS ?= build/chaos_effects
chaos: $(VENV)/.installed-dev
	@mkdir -p $(dir $(CHAOS))
	@for seed in 1 2 3 4 5 6 7 8 9 10; do \
	  grep -qs "\"normal\",\"seed\":\"$$seed\"" $(CHAOS) && continue; \
	  CORTEX_EFFECT_KILLS=50 CORTEX_EFFECT_SEED=$$seed CORTEX_EFFECT_REPORT=$(CHAOS) \
	    $(BIN)/pytest -q -n 0 --timeout=0 -o faulthandler_timeout=0 tests/e2e/test_chaos_effects.py || exit 1; \
	done
	@cat $(CHAOS).txt

# 100 kills while two steps of 1,000 items each go on, 16 at once; the figures are added to a file.
FAN_KILLS ?= build/fan_kills
fan-kills: $(VENV)/.installed-dev
	@mkdir -p $(dir $(FAN_KILLS))
	@CORTEX_FAN_KILLS=100 CORTEX_FAN_ITEMS=1000 CORTEX_FAN_REPORT=$(FAN_KILLS) \
	  $(BIN)/pytest -q -n 0 --timeout=0 -o faulthandler_timeout=0 tests/e2e/test_fan_killed.py
	@cat $(FAN_KILLS)

# 200 ends of a hub while clients publish, follow and ask; the figures are in a file.
HUB_ENDS ?= build/hub_ends
hub-ends: $(VENV)/.installed-dev
	@mkdir -p $(dir $(HUB_ENDS))
	@CORTEX_HUB_ENDS=200 CORTEX_HUB_ENDS_REPORT=$(HUB_ENDS) \
	  $(BIN)/pytest -q -n 0 --timeout=0 -o faulthandler_timeout=0 tests/e2e/test_hub_ends.py
	@cat $(HUB_ENDS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Cortex needs Python 3.11 or newer: install one, or name it with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "venv is missing: on Debian and Ubuntu, apt install python3-venv"; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo 'Installing Cortex into $(VENV) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[static]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed
