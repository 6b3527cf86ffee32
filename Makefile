# One word a job. Everything lives in .venv and target; nothing outside this folder is changed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := build/demo
SAMPLES := build/samples
# three times the processors that are sure to be there: two thirds of its time a test waits, for disks and clocks
JOBS   ?= 6

.PHONY: setup demo samples test test-anywhere test-anywhere-sample test-full test-rust test-rust-full test-python test-python-full test-build lab lab-sample loom miri fuzz uncertainty uncertainty-runs \
  fuzz-python fuzz-logs crash crash-sample lint lint-rust lint-python format ratios performance soak nines docs \
  pictures clean help second-verifier second-verifier-runs second-verifier-faults

help:  ## list these jobs
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/.built $(VENV)/.dev $(VENV)/.testbench  ## virtual environment, native module, and what tests and linters need

$(VENV)/.made: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "openpts needs Python 3.11 or later; name one with make PYTHON=python3.12 ..."; exit 1; }
	@command -v cargo >/dev/null || { echo "openpts needs a Rust toolchain (1.88 or later): https://rustup.rs"; exit 1; }
	@command -v cc >/dev/null || { echo "openpts needs a C compiler as linker: apt-get install gcc"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 can't make virtual environments: apt-get install python3-venv"; exit 1; }
	@grep '^pip==' constraints.txt >$(VENV)/pip.txt
	$(BIN)/pip install --quiet --require-hashes --requirement $(VENV)/pip.txt
	$(BIN)/pip install --quiet --constraint constraints.txt maturin
	@touch $@

SOURCES := $(shell find rust \( -name '*.rs' -o -name Cargo.toml \)) Cargo.toml Cargo.lock
BENCH_SOURCES := $(shell find packages/testbench \( -name '*.rs' -o -name '*.toml' \))
# The wheel that maturin makes and installs has no hash; what it needs has one in constraints.txt, and is held against it.
DEVELOP = PIP_QUIET=1 PIP_NO_REQUIRE_HASHES=1 PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(CURDIR)/$(BIN)/maturin develop \
  --quiet --locked

$(VENV)/.built: $(VENV)/.made $(SOURCES)
	$(DEVELOP)
	@touch $@

# All that a first report needs, in half of the time: without traces.
$(VENV)/.first: $(VENV)/.made $(SOURCES)
	$(DEVELOP) --no-default-features
	@touch $@

# A drive that is served to tests; users have none.
$(VENV)/.testbench: $(VENV)/.built $(BENCH_SOURCES)
	cd packages/testbench && $(DEVELOP)
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --group developers
	@touch $@

demo: $(if $(wildcard $(VENV)/.built),$(VENV)/.built,$(VENV)/.first)  ## an IOPS test at full length on a simulated drive, and a short one on a file (2 to 3 minutes)
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@echo 'demo 1 of 2: the IOPS test at full length on a simulated drive, in virtual time'
	@$(BIN)/openpts run iops 'sim:enterprise-tlc?scale=134' --out $(DEMO)/simulated
	@printf '%s\n' '' 'The first report is there: hours of test time, in virtual time. Open' \
	  '  $(CURDIR)/$(DEMO)/simulated/report.html' '' \
	  'demo 2 of 2: the same test, shortened to a minute, on a scratch file: real I/O on the disk of this folder'
	@$(BIN)/openpts run iops 'file:$(DEMO)/scratch?size=512MiB' --quick --step-seconds 0.12 --out $(DEMO)/file; \
	  status=$$?; rm -f $(DEMO)/scratch; exit $$status
	@printf '%s\n' '' 'Open this, and see at its deviations what the shortening costs:' \
	  '  $(CURDIR)/$(DEMO)/file/report.html' \
	  'With a drive whose data may be destroyed, as root:' \
	  '  $(BIN)/openpts devices                    what each drive is, and whether it is free' \
	  '  $(BIN)/openpts plan iops /dev/nvme0n1     how long the test takes, how much it writes' \
	  '  $(BIN)/openpts run iops /dev/nvme0n1 --confirm-serial SERIAL' ''
	@[ -e $(VENV)/.built ] || echo 'Traces and captures of every I/O are not compiled yet: make setup'

# Drives that show what each test is there to show, at full length: capacity and preset differ for that.
samples: $(VENV)/.built  ## build/samples: a report of every test, from simulated drives (5 to 10 minutes)
	@rm -rf $(SAMPLES) && mkdir -p $(SAMPLES)
	$(BIN)/openpts run all sim:enterprise-tlc --out $(SAMPLES)/enterprise
	$(BIN)/openpts run all 'sim:client-qlc?capacity=256GB' --class client --out $(SAMPLES)/client
	$(BIN)/openpts run benchmarks 'sim:client-qlc?capacity=256GB' --out $(SAMPLES)/benchmarks
	$(BIN)/openpts run precon sim:mlc --out $(SAMPLES)/precon
	$(BIN)/openpts run entropy sim:sata-reduction --out $(SAMPLES)/entropy
	$(BIN)/openpts run sustained 'sim:client-qlc?capacity=256GB' --out $(SAMPLES)/sustained
	$(BIN)/openpts run fill 'sim:client-qlc?capacity=256GB' --out $(SAMPLES)/fill
	$(BIN)/openpts sim show enterprise-tlc --toml | sed -e 's/factor = 2.0/factor = 60.0/' \
	  -e 's/controller_k_per_w = 3.5/controller_k_per_w = 7.0/' > $(SAMPLES)/hot.toml
	$(BIN)/openpts run thermal 'sim:$(SAMPLES)/hot.toml?capacity=200GB' --ambient-c 30 --out $(SAMPLES)/thermal
	{ $(BIN)/openpts sim show mlc --toml; printf '%s\n' '[page_mapped.wear]' 'mean_erases = 60.0' \
	  'deviation_share = 0.08' 'rated_erases = 50.0'; } > $(SAMPLES)/worn.toml
	$(BIN)/openpts run lifetime 'sim:$(SAMPLES)/worn.toml?capacity=4GB&scale=1' --cycles 200 --wear-limit-pct 1000 \
	  --out $(SAMPLES)/lifetime
	$(BIN)/openpts report $(SAMPLES)/enterprise --style short
	$(BIN)/openpts compare $(SAMPLES)/enterprise $(SAMPLES)/client --out $(SAMPLES)/comparison

test: $(if $(P),,test-rust) test-python  ## all tests, of the longest a sample; P=traces: those of one package, P=core: the core alone, P=changed: of what differs from BASE=main

test-full: test-rust-full test-python-full  ## all tests, in all their cases

test-rust:
	cargo test --quiet --locked

test-rust-full:
	cargo test --quiet --locked -- --include-ignored

test-build:  # what test-rust runs, while the processors have nothing else to do
	cargo test --quiet --locked --no-run

# Neighbors stay together, and with them what they share; who has finished takes some of what the others have left.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --ignore tests/lab --ignore tests/crash

BASE ?= main
OF_PACKAGE = $(if $(filter core,$(P)),--alone packages/openpts/tests,$(if $(filter changed,$(P)),$$($(BIN)/python -m tests.support.changed $(BASE)),packages/openpts_$(P)/tests))
test-python: setup
	$(PYTEST) --sample $(if $(P),$(OF_PACKAGE))

test-python-full: setup
	$(PYTEST)

# It mounts another root and leaves it as another user; slow tests add little there.
ANYWHERE := $(BIN)/python -m tests.support.anywhere -p no:cacheprovider -n $(JOBS) --dist worksteal --sample
test-anywhere: setup  ## tests as user 1000, in an overlay without io_uring, terminals and loop devices; needs root
	$(ANYWHERE) $(wildcard packages/*/tests/unit packages/*/tests/device) tests/repository

test-anywhere-sample: setup  ## of these what depends on all that (2 minutes)
	$(ANYWHERE) tests/repository/test_visible_output.py packages/openpts_drives/tests/unit/test_devices.py packages/openpts_traces/tests/unit/cli/test_trace.py \
	  packages/openpts/tests/unit/device/test_allocation.py packages/openpts/tests/unit/device/test_scratch_file.py packages/openpts/tests/unit/engine packages/openpts_io/tests/device/test_io.py \
	  packages/openpts_batch/tests/device/test_claims_on_loop.py packages/openpts/tests/device/test_run_on_a_file.py

# One virtual machine for a file: it must not be booted in two processes.
LAB := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/lab

lab lab-sample: setup
	@[ -n "$$OPENPTS_LAB" ] || { echo "OPENPTS_LAB names no lab: see tests/README.md"; exit 1; }
	$(LAB) $(if $(filter lab-sample,$@),--sample)
lab:  ## purge, proof, cache, whole tests, refusals and healing on emulated drives; OPENPTS_LAB names the lab
lab-sample:  ## of these refusals, purges, a run and a killed one that is healed, on three machines

# Interleavings are counted, not timed: unoptimised, the crate is compiled in a third of the time.
loom:  ## the barrier of the engine's threads under every interleaving
	cargo test --quiet --locked -p openpts-core --features loom --lib barrier \
	  --config profile.test.package.openpts-core.opt-level=0 --config 'profile.test.package."*".opt-level=0'

miri:  ## what Miri can run of the clock and the machine; needs a nightly Rust with miri
	cargo +nightly miri test --quiet --locked -p openpts-core --lib --target-dir target/miri -- clock:: machine:: log_linear

FUZZ_SECONDS ?= 60
fuzz:  ## each fuzz target for a minute; needs a nightly Rust and cargo-fuzz
	@mkdir -p build/fuzz/programs build/fuzz/presets build/fuzz/hosts
	for target in parse_program pull_stream; do \
	  cargo +nightly fuzz run $$target build/fuzz/programs fuzz/corpus -- -dict=fuzz/program.dict \
	    -max_total_time=$(FUZZ_SECONDS) || exit 1; done
	cargo +nightly fuzz run -s none open_preset build/fuzz/presets packages/openpts_sim/presets -- -timeout=25 \
	  -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run -s none serve_host build/fuzz/hosts fuzz/hosts -- -timeout=25 -max_total_time=$(FUZZ_SECONDS)

MUTATIONS ?= 1000000
fuzz-python: setup  ## as many damaged inputs for each reader of files (many hours)
	OPENPTS_MUTATIONS=$(MUTATIONS) $(BIN)/python -m pytest -n $(JOBS) tests/mutations

LOG_PAGES ?= 1000000
fuzz-logs: setup  ## as many damaged log pages of drives
	OPENPTS_LOG_PAGES=$(LOG_PAGES) $(BIN)/python -m pytest -n $(JOBS) tests/mutations/test_log_pages.py

CRASH_ROUNDS ?= 8
CRASH := OPENPTS_CRASH_ROUNDS=$(CRASH_ROUNDS) $(BIN)/python -m pytest -n $(JOBS) tests/crash
crash: setup  ## kills at 400 random points of all tests, and power cuts if OPENPTS_LAB names the lab (hours)
	$(CRASH)

crash-sample: setup  ## 20 of these kills (a minute)
	$(CRASH) --sample

uncertainty: setup  ## how often intervals hold the true value, in 1,000 noisy runs of each test (some minutes)
	$(BIN)/python -m tests.support.noisy_runs 1000

RUNS ?= 100
uncertainty-runs: setup  ## the same in whole runs of four tests, on drives with drawn noise: 100 of each (an hour)
	$(BIN)/python -m benches.whole_run_coverage $(RUNS)

# Its go.sum pins what it is made of; CGO_ENABLED=0 makes it static.
VERIFIER := build/second-look
second-verifier: $(VERIFIER)  ## build/second-look: key values and steady state once more, from run.db alone; needs Go 1.24

$(VERIFIER): $(wildcard verifier/*.go) verifier/go.mod verifier/go.sum
	@command -v go >/dev/null || { echo "the second verifier needs Go (1.24 or later): https://go.dev/dl"; exit 1; }
	cd verifier && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ .

DRAWN ?= 10000
second-verifier-runs: setup $(VERIFIER)  ## openpts and the second verifier over 10,000 drawn runs (half an hour)
	$(BIN)/python -m tests.second_verifier.chunk 1 $(DRAWN)

second-verifier-faults: setup $(VERIFIER)  ## each of the listed faults in openpts, one by one: every one must be found
	$(BIN)/python -m tests.second_verifier.faults

lint: lint-rust lint-python  ## formatters, linters, types, imports

lint-rust:
	cargo fmt --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	cargo clippy --quiet --locked -p openpts-python --no-default-features -- -D warnings

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest openpts._native openpts_testbench._native --concise
	$(BIN)/lint-imports --no-cache

format:  ## let the formatters have their way
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

ratios: setup  ## report and start against a fixed piece of work: fails 15 % above the limits in benches/ratios.toml
	$(BIN)/python -m benches.ratios

performance: setup  ## build/measured.md: all benches in turn, on a quiet machine, as root (an hour); BENCH=report: one
	$(BIN)/python -m benches.page $(BENCH)

SOAK := build/soak
soak: setup  ## two hours of I/O on a file, then a suite of weeks in virtual time; fails if memory grows or a clock drifts
	@rm -rf $(SOAK)
	$(BIN)/python -m benches.soak file $(SOAK)/file
	$(BIN)/python -m benches.soak suite $(SOAK)/suite

nines: setup  ## nine nines over 2 x 10^9 I/Os of a simulated drive whose latencies are known (minutes)
	$(BIN)/python -m benches.nine_nines

docs: setup  ## build/docs: the manual as a web site
	$(BIN)/python docs/command_line.py
	$(BIN)/python -m docs.conformance_page
	$(BIN)/python -m docs.reference
	$(BIN)/openpts plan --schema > packages/openpts/docs/plan.schema.json
	$(BIN)/python docs/simulated_curves.py
	$(BIN)/python -m docs.manual_site
	$(BIN)/zensical build --strict

pictures: setup  ## docs/images: an answer in a terminal, and a report in chromium
	$(BIN)/python -m docs.pictures

include packaging/packages.mk

clean:
	rm -rf $(VENV) target build .cache
