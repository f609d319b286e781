# Every recipe is plain commands without shell syntax, so that it also works where make has no POSIX shell.
# Another Python: make run PYTHON=python3.12
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif
INSTALLED := .venv/installed
BENCHES := $(sort $(wildcard tests/bench_*.py))

.PHONY: run test lint slow bench record lock clean book browser
.DEFAULT_GOAL := run

run: $(INSTALLED)
	$(BIN)/course run

test: lint
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(BIN)/course verify

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/codespell

slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

bench: $(BENCHES:%=run-%)

run-tests/bench_%.py: $(INSTALLED)
	$(BIN)/python tests/bench_$*.py

# The site, with the status of the last run.
book: build/report.json
	$(BIN)/course book

# What a reader sees, in a real browser: needs Chromium or Chrome; screenshots are kept in build/screenshots.
browser: book
	$(BIN)/python -m pytest -m browser

build/report.json: $(INSTALLED)
	$(BIN)/course run

# make record NB=01
record: $(INSTALLED)
	$(BIN)/course record $(NB)

lock: $(INSTALLED)
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --all-extras --custom-compile-command "make lock" --quiet pyproject.toml -o requirements.lock

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(name, ignore_errors=True) for name in ('.venv', 'build', '.pytest_cache', '.ruff_cache', '.hypothesis')]"

# The environment: made once, brought up to date when the lock or the list of dependencies changes.
$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; name one: make run PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps -e .
	$(BIN)/python -c "open('$(INSTALLED)', 'w').close()"
