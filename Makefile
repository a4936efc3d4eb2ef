# Two commands do everything, set-up included: `make demo` and `make test`. `make help` lists the rest.

SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTHON := $(BIN)/python
CODE := proto/generate.py libs services client spark-jobs integration-tests benchmarks

# What a newcomer may set: make demo DURATION=30 DEVICES=500
DURATION ?=
DEVICES ?=
export DURATION DEVICES

.PHONY: help
help: ## list what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install everything that penstock needs here (the other targets do this themselves)
	@sh libs/embedded/bootstrap.sh

.PHONY: demo
demo: setup ## run the pipeline on this machine, live; DURATION=30 stops after 30 seconds
	@$(PYTHON) -m penstock.demo $(if $(DURATION),--duration $(DURATION)) $(if $(DEVICES),--devices $(DEVICES))

.PHONY: test
test: lint types contracts gen-check unit integration ## everything that must hold before a change lands

.PHONY: lint
lint: setup ## style of the code and the protos; protos must not break those on main
	$(BIN)/ruff check $(CODE) conftest.py
	$(BIN)/ruff format --check $(CODE) conftest.py
	cd proto && ../$(BIN)/buf lint
	@if git cat-file -e main:proto/buf.yaml 2>/dev/null; then \
	  echo "buf breaking --against main"; cd proto && ../$(BIN)/buf breaking --against '../.git#branch=main,subdir=proto'; \
	elif git cat-file -e origin/main:proto/buf.yaml 2>/dev/null; then \
	  echo "buf breaking --against origin/main"; \
	  cd proto && ../$(BIN)/buf breaking --against '../.git#ref=refs/remotes/origin/main,subdir=proto'; \
	else echo "buf breaking: no protos on main to compare with"; fi

.PHONY: types
types: setup ## mypy, strict
	$(BIN)/mypy $(CODE)
	$(BIN)/mypy conftest.py

.PHONY: contracts
contracts: setup ## who may import whom
	$(BIN)/lint-imports --no-cache

.PHONY: gen
gen: setup ## write the Python of the protos
	$(PYTHON) proto/generate.py

.PHONY: gen-check
gen-check: setup ## the committed Python of the protos is current
	$(PYTHON) proto/generate.py --check

.PHONY: unit
unit: setup ## tests that run in seconds
	$(BIN)/pytest -q libs services client spark-jobs benchmarks

.PHONY: integration
integration: setup ## tests on a real Kafka
	$(BIN)/pytest -q integration-tests

.PHONY: drill-timelines
drill-timelines: setup ## kill every part of timelines, ROUNDS=200 times, while they change; then audit
	PENSTOCK_DRILL_ROUNDS=$(or $(ROUNDS),200) $(BIN)/pytest -q integration-tests/test_timelines_crashes.py

.PHONY: bench
bench: bench-clock bench-ingest bench-enrich bench-timeline bench-kafka-start bench-table-memory ## all measurements, one after the other

.PHONY: bench-clock
bench-clock: setup ## how wrong corrected times are, against a simulated truth
	@$(PYTHON) benchmarks/clock.py

.PHONY: bench-ingest
bench-ingest: setup ## durable events per second and CPU per event, beside a bare producer
	@$(PYTHON) benchmarks/ingest.py

.PHONY: bench-enrich
bench-enrich: setup ## enriched events per second and CPU per event, beside Quix Streams; latency of look-ups
	@$(PYTHON) benchmarks/enrich.py

.PHONY: bench-timeline
bench-timeline: setup ## timeline entries per second and their cost, beside Redis; reads; how soon a post is seen
	@$(PYTHON) benchmarks/timeline.py

.PHONY: bench-table-memory
bench-table-memory: setup ## memory and speed of enrichment's tables, beside a dict of messages
	@$(PYTHON) benchmarks/table_memory.py

.PHONY: bench-kafka-start
bench-kafka-start: setup ## how fast the embedded Kafka starts
	@$(PYTHON) benchmarks/kafka_start.py

.PHONY: format
format: setup ## let ruff format and mend what it can
	$(BIN)/ruff check --fix $(CODE) conftest.py
	$(BIN)/ruff format $(CODE) conftest.py

.PHONY: clean
clean: ## remove what these targets made here (the cache of jars in your cache folder stays)
	rm -rf .venv .tools .run .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
