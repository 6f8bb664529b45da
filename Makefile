# make audit: everything from a bare checkout. PYTHON=python3.12 VENV=/elsewhere override; a second call does not reinstall.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Two processes on two cores do better than BLAS threads inside of each.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Many short processes start here; each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: audit seconds standard along mutate mutate-table mutate-sample test coverage fast slow search nightly fuzz fuzz-guided wheels libraries lint docs bench bench-commands bench-auditor dev clean

# `run` verifies every stored certificate as well, each by its check. The report matters most when a verdict is not as expected, so it is written in any case; the exit code is that of `run`.
# `make audit` changes no committed file; `make standard` renews reports/. What is left out (DEAR seconds by
# reports/seconds.json, which `make seconds` measures) is in the report with the committed record of a larger size.
DEAR ?= 2
audit: $(VENV)/.audit
	@code=0; $(BIN)/dpcheck run --size smoke --limit $(DEAR) --workers $(WORKERS) || code=$$?; \
	$(BIN)/dpcheck report --out .dpcheck/reports && echo && \
	sed -n '/^| Paper/,/^$$/p' .dpcheck/reports/index.md && exit $$code

seconds: $(VENV)/.audit
	rm -f .dpcheck/seconds.db
	$(BIN)/dpcheck run --size smoke --workers $(WORKERS) --store .dpcheck/seconds.db > /dev/null
	$(BIN)/python benchmarks/seconds.py .dpcheck/seconds.db

standard: $(VENV)/.audit
	@code=0; $(BIN)/dpcheck run --size standard --workers $(WORKERS) || code=$$?; $(BIN)/dpcheck report && exit $$code

# dpcheck/_kept/, with which the first `dpcheck list` of a clone or a wheel answers at once; the last step before a commit.
along: $(VENV)/.audit
	$(BIN)/python -m dpcheck.engine.bringing

# What every check notices, in reports/mutants.jsonl, which `dpcheck report` shows; an interrupted one goes on. All null
# algorithms, seeded bugs and wrong formulas, MUTANTS wrong lines, drawn (all of them take six hours), and by how much each
# bound may be wrong; formulas on checks of at most LIMIT seconds, of which there are many, algorithms on those up to 10.
MUTANTS ?= 400
LIMIT ?= 3
RATES := tests/mutants/rates.json
mutate: $(VENV)/.audit
	$(BIN)/dpcheck mutate --family null --family seeded --family code --sample $(MUTANTS) --seed 1 --limit 10 \
	--workers $(WORKERS) --save
	$(BIN)/dpcheck mutate --family claim --limit $(LIMIT) --workers $(WORKERS) --save --rates $(RATES)
	$(BIN)/dpcheck mutate --resolution --limit $(LIMIT) --workers $(WORKERS) --save > /dev/null

# What can be had in minutes: SAMPLE wrong formulas of each paper, drawn, and by how much each of its bounds may be wrong,
# on checks of at most LIMIT seconds; a slow machine needs more of them for the same checks.
PAPERS := lp_spaces l1_geometry tsybakov user_level pure_heavy_tails
SAMPLE ?= 300
mutate-table: $(VENV)/.audit
	for paper in $(PAPERS); do $(BIN)/dpcheck mutate $$paper --family claim --sample $(SAMPLE) --seed 1 --limit $(LIMIT) \
	--workers $(WORKERS) --save --rates $(RATES) && $(BIN)/dpcheck mutate $$paper --resolution --limit $(LIMIT) \
	--workers $(WORKERS) --save > /dev/null || exit 1; done

# The gate of CI: what differs from that table, its null algorithms first, and a hundred mutants that it says are noticed.
# Fails where one of these is not any more, where the time does not suffice for them, and below the committed rates.
mutate-sample: $(VENV)/.dev
	$(BIN)/dpcheck mutate --changed --sample 100 --seed 1 --budget 240 --limit 20 --workers $(WORKERS) --rates $(RATES)

# Without a replacement for a worker that dies: pytest-xdist 3.8 would wait for ever at the end of the run (its #1323).
SIDE_BY_SIDE := -n $(WORKERS) --dist loadgroup --max-worker-restart 0
test: $(VENV)/.dev
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --hypothesis-profile ci

# What the tests reach of that on which verdicts rest, processes of their own included; those that are killed leave half
# a file, which is left out. The lines that are missed: `python -m coverage report`.
COVERAGE = $(BIN)/python -W "ignore:Couldn't use data file" -m coverage
coverage: $(VENV)/.dev
	@mkdir -p .dpcheck
	$(COVERAGE) erase
	$(BIN)/python -m coverage run -m pytest $(SIDE_BY_SIDE) --hypothesis-profile ci
	$(COVERAGE) combine
	$(COVERAGE) json -q --fail-under=0 -o .dpcheck/covered.json
	$(BIN)/python tests/covered.py .dpcheck/covered.json

# The daily loop, a minute: all but the tests that tests/slow.txt names. `make slow` measures all of them anew, then those
# of the ring twice more: what tests share is paid for by whichever comes first.
fast: $(VENV)/.dev
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not slow'

slow: $(VENV)/.dev
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --measure all
	for again in 1 2; do $(BIN)/python -m pytest $(SIDE_BY_SIDE) --measure more -m 'not slow' || exit 1; done

# Property tests with fresh examples, over and over for SECONDS; stops at the first failure, which prints how to repeat it.
SECONDS ?= 3600
search: $(VENV)/.dev
	@end=$$(( $$(date +%s) + $(SECONDS) )); \
	while [ $$(date +%s) -lt $$end ]; do \
	$(BIN)/python -m pytest -x -m hypothesis --hypothesis-profile search || exit 1; done

# Hostile files and states for every reader, other ones every day.
INPUTS ?= 1e6
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz.py $(INPUTS)

# The same readers of files under atheris, which goes on from what reached a new branch; a million each, night by night.
GUIDED := witness records mutants certificate failures "outputs .npz" "outputs .jsonl"
fuzz-guided: $(VENV)/.dev
	$(PIP) install -c constraints.txt -e '.[fuzz]'
	@for reader in $(GUIDED); do $(BIN)/python tests/guided.py "$$reader" $(INPUTS) || exit 1; done

# The wheel in new environments: every Python in PYTHONS, with pinned, and with the lowest and the newest dependencies.
PYTHONS ?= python3.11 python3.12 python3.13
wheels: $(VENV)/.dev
	$(BIN)/python -m hatchling build -t wheel -d dist
	for python in $(PYTHONS); do for with in pinned lowest newest; do .ci/wheel $$python $$with || exit 1; done; done

# Audits of released libraries, newest and old versions, each in an environment of its own under .dpcheck/environments/.
libraries:
	.ci/libraries $(PYTHON)

# Runs that are killed at hundreds of moments, and whatever else takes minutes.
nightly: $(VENV)/.dev
	$(BIN)/python -m pytest -m nightly --nightly

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# docs/_build/index.html; a warning is an error.
docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/.kept docs docs/_build

bench: $(VENV)/.dev
	$(BIN)/python -m pytest benchmarks -o python_files='bench_*.py' --benchmark-columns=min,median,rounds

bench-commands: $(VENV)/.dev
	$(BIN)/python benchmarks/bench_commands.py

bench-auditor: $(VENV)/.dev
	$(BIN)/python benchmarks/bench_auditor.py
	$(BIN)/python benchmarks/bench_held_out.py

dev: $(VENV)/.dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpcheck needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0] + "; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# Of a thousand modules a run imports a few hundred, which Python compiles then: pip need not compile them all.
$(VENV)/.audit: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e '.[accounting,solvers,testing]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e '.[dev]'
	@touch $(VENV)/.audit $@

# What was measured stays: .dpcheck/ and reports/.
clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
