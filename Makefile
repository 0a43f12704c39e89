# Everything starts from a fresh clone: each target makes its own environment in .venv.
PYTHON ?= python3
EXTRAS ?=
BIN := .venv/bin
comma := ,
RUN := .venv/.installed-to-run
DOCS := .venv/.installed-docs
DEV := .venv/.installed-dev-$(subst $(comma),-,$(EXTRAS))
PACKING := build/packing/bin/python
OLDEST := build/oldest/bin/python
NEWEST := build/newest/bin/python
TESTING := hypothesis 'pytest>=8' 'pytest-xdist>=3.7'
CORE := tests/engines tests/solve tests/tree tests/games tests/test_oracle.py
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
PYTEST_ARGS ?=

.PHONY: help test test-elsewhere lint demo bench docs dist smoke notebooks oldest newest venv clean
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

venv: $(DEV) ## the environment for development in .venv (EXTRAS=gpu adds PyTorch)
$(BIN)/python:
	@$(PYTHON) -m venv .venv
$(RUN): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing subgame and what it needs to run into .venv (about half a minute)"
	@$(INSTALL) .
	@touch $@
$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing subgame, its tests' tools and the solvers it is compared with into .venv (two to four minutes)"
	@$(INSTALL) '.[dev$(if $(EXTRAS),$(comma)$(EXTRAS))]'
	@touch $@ $(RUN)

$(DOCS): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing subgame and what builds its documentation into .venv (about half a minute)"
	@$(INSTALL) '.[docs]'
	@touch $@ $(RUN)

lint: venv ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

test: venv ## everything that must hold: lint, types, imports, tests, doctests
	@# In a fresh clone Numba compiles its kernels, for about a minute: meanwhile, the checks.
	@$(BIN)/python tools/compile_kernels.py >/dev/null 2>&1 & compiling=$$!; \
	$(MAKE) --no-print-directory lint; checked=$$?; wait $$compiling; exit $$checked
	@$(BIN)/python -c "import torch" 2>/dev/null || echo "PyTorch is not installed: the tests of the GPU path are skipped (make test EXTRAS=gpu runs them)."
	@command -v chromium >/dev/null || echo "Chromium is not installed: the tests of the pages in a browser are skipped."
	@# A worker per core already: PyTorch need not start threads of its own. A worker takes whole
	@# files, because the tests of a file share what is slow to make, in the order of their names:
	@# the examples of docstrings come last, which are short, so that no worker waits for the other.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-elsewhere: venv ## the tests as other machines would run them (SETTINGS="avx2 busy"; twice the time)
	@$(BIN)/python tools/other_machine.py $(SETTINGS) -- $(PYTEST_ARGS)

demo: $(RUN) ## what subgame does, in about a minute
	@$(BIN)/subgame demo

bench: venv ## our speed beside OpenSpiel's and LiteEFG's
	@$(BIN)/subgame bench

docs: $(DOCS) ## the documentation site, strictly, in build/site
	@$(BIN)/python docs/site/build.py

$(PACKING): pyproject.toml constraints.txt
	@$(PYTHON) -m venv --clear build/packing
	@$(PACKING) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    --editable . build twine hatchling hatch-fancy-pypi-readme

dist: $(PACKING) ## sdist and wheel, with object code of the kernels, checked, in dist
	rm -rf dist
	SUBGAME_KERNELS=require $(PACKING) -m build --no-isolation
	$(PACKING) -m twine check --strict dist/*

smoke: dist ## wheel and sdist, installed into empty environments and used
	$(PYTHON) tools/smoke_wheel.py dist/*.whl
	$(PYTHON) tools/smoke_wheel.py dist/*.tar.gz --steps version river

notebooks: dist ## the notebooks, with the wheel in an empty environment
	$(PYTHON) tools/run_notebooks.py dist/*.whl

$(OLDEST): pyproject.toml
	@$(PYTHON) -m venv --clear build/oldest
	@$(OLDEST) -m pip install --quiet --disable-pip-version-check uv
	@$(OLDEST) -m uv pip install --quiet --python $(OLDEST) --resolution lowest-direct --editable '.[tables,web]'
	@$(OLDEST) -m uv pip install --quiet --python $(OLDEST) $(TESTING)

$(NEWEST): pyproject.toml
	@$(PYTHON) -m venv --clear build/newest
	@$(NEWEST) -m pip install --quiet --disable-pip-version-check --editable '.[tables,web]' $(TESTING)

newest: $(NEWEST) ## the core tests with the newest versions
	$(NEWEST) -m pytest -n auto --dist loadfile $(PYTEST_ARGS) $(CORE)

oldest: $(OLDEST) ## the core tests with the oldest versions that pyproject.toml allows
	$(OLDEST) -m pytest -n auto --dist loadfile $(PYTEST_ARGS) $(CORE)

clean: ## remove the environment and caches
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
