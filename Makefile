# One command sets up and runs every check: `make test`. It needs Rust (rust-toolchain.toml names the version), a C
# compiler, Python 3.11 with venv, and Node.js with npm; it says what else it installs, and at once what is missing.

SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
CARGO ?= cargo
TRUTH_PROFILE ?= release
NEXTEST_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help mutants build fmt lint licences advisories test test-rust test-wheel test-installed test-python test-pages test-r \
	test-browser test-containers test-storage test-ray \
	wheel truth summaries bench \
	bench-against bench-python docs reference check-cross check-platforms site pictures release check-release clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the release binary, target/release/jobmeter
	$(CARGO) build --release --locked

fmt: ## format the sources
	$(CARGO) fmt --all

lint: licences ## formatting and lints, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(PYTHON) tools/check-version
	$(PYTHON) tools/check-links

licences: ## every dependency's licence is one of those in deny.toml
	$(PYTHON) tools/check-licences

advisories: ## no known vulnerability in Cargo.lock: ADVISORY_DB=PATH, or cargo-deny and a network
	@if [ -n "$(ADVISORY_DB)" ]; then $(PYTHON) tools/check-advisories "$(ADVISORY_DB)"; \
	elif command -v cargo-deny >/dev/null; then $(CARGO) deny --locked check advisories; \
	else echo "make advisories: give a checkout of the RustSec database as ADVISORY_DB=PATH, or install cargo-deny" >&2; exit 2; fi

# In this order: what fails fast comes first.
test: ## set up and run every check
	@tools/check-needs
	@# Packages take a while to come: they do so beside the first checks, and who needs them waits for them.
	@tools/ensure-packages strace time groovy R=r-base-core chromium pdftoppm=poppler-utils >/dev/null 2>&1 &
	$(MAKE) lint
	$(MAKE) test-rust
	$(MAKE) test-wheel
	@# Each of these waits for others most of the time. What one says is shown when it is over.
	$(MAKE) --jobs=2 --output-sync=recurse test-installed test-pages
	@echo "All checks passed."

test-rust: ## unit, property and black-box tests, and the examples in the docs
	tools/ensure-packages strace time
	@# Launchers of jobs: where they cannot be installed, their tests say so.
	tools/ensure-packages mpirun=openmpi-bin srun=slurm-client slurmctld slurmd munged=munge || true
	$(CARGO) build --workspace --bins --locked
	@# What was built stays built: a second build compiles nothing.
	@if $(CARGO) build --workspace --bins --locked 2>&1 | grep Compiling; then echo "a second build compiled these again" >&2; exit 1; fi
	@if $(CARGO) nextest --version >/dev/null 2>&1; then $(CARGO) nextest run --workspace --locked $(NEXTEST_FLAGS); \
	else tools/run-rust-tests; fi
	$(CARGO) test --workspace --doc --locked --quiet
	@# The commands that the pages show do what they say.
	$(PYTHON) tools/site/run_commands.py target/debug/jobmeter docs/*.md README.md
	@# So do those of the help and of the manual.
	$(PYTHON) tools/site/help_examples.py target/debug/jobmeter

test-containers: ## containers of a real dockerd and Podman, where they can be had (not part of make test)
	tools/ensure-packages dockerd=docker.io podman runc busybox=busybox-static || true
	$(CARGO) build --package jobmeter-cli --locked
	$(PYTHON) tools/test_containers.py target/debug/jobmeter

test-storage: ## runs in a real S3 server on loopback (not part of make test)
	tools/test-storage $(VENV)

test-ray: wheel ## workers of a real Ray, which is a large download (not part of make test)
	tools/test-ray $(VENV)

wheel: ## the Python wheel, in dist/
	tools/make-wheel $(VENV)

# Most of a development build is there already when this runs; a release build would take minutes.
test-wheel:
	JOBMETER_PROFILE=dev tools/make-wheel $(VENV)

test-installed:
	tools/test-python $(VENV)

test-python: ## install a wheel of a development build into .venv and test it there
	$(MAKE) test-wheel
	$(MAKE) test-installed

test-r: ## install the R package and run its examples and tests, where R can be had
	tools/test-r

test-browser: ## the report in a real browser
	tools/test-browser

test-pages:
	$(MAKE) test-r
	$(MAKE) test-browser

truth: ## what jobmeter says, held against witnesses; best as root: JOBS="make pool" TRUTH_RUNS=10
	tools/truth-tools target/truth-venv
	$(CARGO) build --profile $(TRUTH_PROFILE) --locked --package jobmeter-cli --package jobmeter-testkit
	TRUTH_VENV=$(CURDIR)/target/truth-venv target/$(TRUTH_PROFILE:dev=debug)/jobmeter-truth $(JOBS)

SUMMARIES ?= 1000
summaries: ## SUMMARIES short jobs under varied options: no summary contradicts itself
	$(CARGO) build --profile $(TRUTH_PROFILE) --locked --package jobmeter-cli --package jobmeter-testkit
	target/$(TRUTH_PROFILE:dev=debug)/jobmeter-truth summaries $(SUMMARIES)

# Every tenth mutant by default: all of them take hours. MUTANTS_SHARD=0/1 tries every one.
MUTANTS_SHARD ?= 0/10
mutants: ## do the tests of model and of the accounting notice a change? (cargo-mutants; not part of make test)
	@command -v cargo-mutants >/dev/null || { echo "make mutants: cargo install cargo-mutants" >&2; exit 2; }
	$(CARGO) mutants -p jobmeter-model --jobs 1 --timeout 60 --shard $(MUTANTS_SHARD) --sharding round-robin --output target/mutants-model || true
	$(CARGO) mutants -p jobmeter-engine --file 'crates/jobmeter-engine/src/account/*.rs' --jobs 1 --timeout 120 \
		--shard $(MUTANTS_SHARD) --sharding round-robin --output target/mutants-account -- --lib account || true
	@for of in model account; do \
		for kind in caught missed timeout unviable; do \
			printf '%s %s: ' $$of $$kind; wc -l < target/mutants-$$of/mutants.out/$$kind.txt; done; done

bench: ## what jobmeter costs, as Markdown tables
	tools/ensure-packages time chromium
	$(CARGO) build --release --locked --package jobmeter-cli --package jobmeter-testkit
	$(CARGO) build --release --locked --package jobmeter-report --example recorded_run --example recorded_job
	target/release/jobmeter-bench
	$(CARGO) bench --locked --package jobmeter-record --package jobmeter-gpu
	$(CARGO) run --release --locked --package jobmeter-report --example bench_report -- 1000000 target/bench-report.html 40000
	tools/install-web-tests
	cd web && node bench/open.mjs ../target/bench-report.html
	@# A job of 1,024 ranks that ran for an hour: merged in under 5 s and 500 MB, its page open in under 2 s.
	rm -rf target/bench-job && target/release/examples/recorded_job 1024 3600 target/bench-job
	JOBMETER_STORE=target/bench-job command time -f '%e s, %M KiB' target/release/jobmeter report job:4711 -o target/bench-job.html --force
	cd web && node bench/open.mjs ../target/bench-job.html 2000
	rm -rf target/bench-job
	$(MAKE) bench-python

bench-against: ## the binary BASE=PATH and this one in turns: wall, memory and CPU as ratios (on a quiet machine)
	@[ -x "$(BASE)" ] || { echo "make bench-against: name the older jobmeter, BASE=path/to/jobmeter" >&2; exit 2; }
	$(CARGO) build --release --locked --package jobmeter-cli --package jobmeter-testkit
	$(PYTHON) tools/bench-against "$(BASE)" target/release/jobmeter target/release/testkit

bench-python: wheel ## what the Python package costs, as Markdown tables
	tools/bench-python $(VENV)

reference: ## docs/metrics.md from the metric table, written anew
	tools/reference-pages --write

docs: site ## the documentation site, and the reference of the crates; fails where a generated page is stale
	tools/reference-pages
	$(CARGO) doc --workspace --no-deps --locked

check-cross: ## the smallest build, and what only reads runs for macOS and Windows, compile
	tools/check-cross

check-platforms: check-cross ## and the Windows build reads the stored runs under Wine
	tools/check-wine

site: ## the documentation as pages in target/site, every command in it run
	tools/make-site $(VENV)

pictures: ## the pictures in the README, from a real run
	tools/make-pictures

release: ## everything that is published, into release/
	packaging/run-release

check-release: ## try out what is in release/
	packaging/run-checks

clean: ## remove what was built
	$(CARGO) clean
	rm -rf $(VENV) dist release
