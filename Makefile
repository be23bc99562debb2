# Each target sets up .venv by itself where it is missing or older than what it is made from. PYTHON=… names another interpreter.
PYTHON ?= python3
VENV := .venv/bin
.DELETE_ON_ERROR:
.PHONY: help bench test test-system smoke lint check lock clean

# uv does not read pip's configuration, so it is told the index that pip is configured for
INDEX = index=$$($(VENV)/python -c 'from claimflip import package_index; print(package_index.configured() or "")') && \
	if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi

help:
	@echo "make bench        the quickstart: mine, label, score, report (minutes; again from cache: seconds)"
	@echo "make test         all tests that need no system package"
	@echo "make test-system  the tests that need one (.ci/run installs what they need)"
	@echo "make smoke        the whole pipeline on one generated repository, under a minute"
	@echo "make lint check   style, types, imports; the same and the tests"
	@echo "make lock clean   renew requirements.lock; remove .venv and caches"

bench: .venv/installed
	$(VENV)/claimflip bench

test: .venv/installed
	$(VENV)/python -m pytest -m "not system"

test-system: .venv/installed
	$(VENV)/python -m pytest -m system

smoke: .venv/installed
	$(VENV)/python repro_smoke.py

lint: .venv/installed
	$(VENV)/python -m ruff check .
	$(VENV)/python -m ruff format --check .
	$(VENV)/python -m mypy
	$(VENV)/lint-imports

check: lint test

lock: .venv/installed
	@$(INDEX) && $(VENV)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade --quiet --generate-hashes --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --output-file requirements.lock

clean:
	rm -rf .venv build dist claimflip.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv, itself from the lock, installs in seconds what takes pip a minute; where it cannot get through, pip may (proxies, certificates, further indexes)
.venv/installed: pyproject.toml requirements.lock
	@"$(PYTHON)" -c 'import sys; sys.exit("claimflip needs Python 3.11 or later, and $(PYTHON) is %d.%d: name another with make PYTHON=..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@echo "setting up .venv (once)"
	@"$(PYTHON)" -m venv --clear .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	@$(VENV)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@$(INDEX) && $(VENV)/uv pip sync --python $(VENV)/python --quiet --require-hashes requirements.lock \
		|| $(VENV)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(VENV)/uv pip install --python $(VENV)/python --quiet --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
	@touch $@
