PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types suite docs tutorials figures coverage mutation test-oldest test-postgres \
	test-browser test-cluster docs-map dist clean

demo: $(VENV)/.demo
	$(BIN)/discreet demo --out demo --force

test: $(VENV)/.ready lint types suite docs

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Meanwhile the other core compiles the tests, which each worker of the suite would do else.
types: $(VENV)/.ready
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --collect-only -qq > /dev/null & \
	$(BIN)/mypy; found=$$?; wait; exit $$found

suite: $(VENV)/.ready
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	$(BIN)/pytest -n 2 --dist worksteal

# The site, in build/site; a warning, such as a link that leads nowhere, stops it.
docs: $(VENV)/.ready
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site

coverage: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check pytest-cov
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --cov=discreet --cov-branch --cov-report=term:skip-covered

# What the demo needs; the development environment below includes it.
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[plot]'
	touch $@

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(VENV)/.demo $@

# Pictures of the docs and for talks, from kept results.
figures: $(VENV)/.ready
	$(BIN)/discreet demo --seed 1 --out build/demo --force > /dev/null && cp build/demo/accuracy.png docs/demo.png
	$(BIN)/python benchmarks/figures.py run
	$(BIN)/python benchmarks/logistic.py plot
	$(BIN)/python benchmarks/rates.py plot
	$(BIN)/python benchmarks/scale.py plot
	$(BIN)/python benchmarks/pure_dp.py plot
	$(BIN)/python benchmarks/accuracy_first.py plot

# Source distribution and wheel, in dist/; a warning of the build stops it.
dist: $(VENV)/.demo
	$(BIN)/pip install --quiet --disable-pip-version-check build twine
	rm -rf build dist
	PYTHONWARNINGS=error::DeprecationWarning:setuptools $(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# Changes one operator at a time and sees whether tests notice; an hour or more.
mutation: $(VENV)/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tests/mutation/run.py

test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/pip install --quiet --disable-pip-version-check -e '.[dev]' -c tests/oldest.txt
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(VENV)-oldest/bin/pytest -n 2 --dist worksteal

test-postgres: $(VENV)/.ready
	ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || \
		{ apt-get update && apt-get install --yes postgresql; }
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[postgres]'
	$(BIN)/python tests/ledger/server.py $(BIN)/pytest -n0 tests/ledger/test_postgres.py

# Kills workers of a Dask cluster of two processes, and runs the example of Spark.
test-cluster: $(VENV)/.ready
	command -v java > /dev/null || { apt-get update && apt-get install --yes default-jre-headless; }
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dask]' pyspark
	DISCREET_CLUSTER=1 $(BIN)/pytest -n0 tests/data/cluster/test_cluster.py tests/test_examples.py -k 'killed or spark' \
		tests/algorithms/perturbation/test_partial_sums.py

# Opens every page that the library writes in Chromium; pictures of them are kept.
test-browser: $(VENV)/.ready
	command -v chromium > /dev/null || command -v google-chrome > /dev/null || \
		{ apt-get update && apt-get install --yes chromium; }
	$(BIN)/pip install --quiet --disable-pip-version-check playwright
	mkdir -p screenshots
	SCREENSHOTS=screenshots $(BIN)/pytest -n0 tests/browser

# Runs the tutorials on public data and writes their pages; see docs/tutorials/make.py.
tutorials: $(VENV)/.ready
	$(BIN)/python docs/tutorials/make.py

docs-map: $(VENV)/.ready
	$(BIN)/python docs/proofs/make_index.py

clean:
	rm -rf $(VENV) $(VENV)-oldest demo build dist screenshots
