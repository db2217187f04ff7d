# The only entry points: make demo, test, lint, bench, install.
# All but install do their own set-up; on a machine without the packages it says the command first.

CARGO ?= cargo
PREFIX ?= /usr/local
RELEASE = $(or $(CARGO_TARGET_DIR),target)/release
BINARIES := wiretrial wiretrial-generator wiretrial-receiver wiretrial-receiver-heap

.PHONY: demo test lint bench install packages test-packages bench-packages release examples

## demo: build and run the demo campaign on real packets
demo: release
	$(RELEASE)/wiretrial run demo

## test: everything cargo tests, the live tests included
test: test-packages
	$(CARGO) build --workspace --locked --bins
	$(CARGO) test --workspace --locked --quiet

## lint: format, clippy and documentation, warnings as errors
lint: packages
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

## bench: resampling against scipy, rows of evidence, and how far equal arms come out apart on this host
bench: release examples
	.ci/bench-stats $(RELEASE)/examples/passes
	$(RELEASE)/examples/rows
	.ci/bench $(RELEASE)

## install: put the executables that make demo built into PREFIX/bin
install:
	@for name in $(BINARIES); do test -x $(RELEASE)/$$name || exit 1; done || { echo "nothing built yet: make demo, or cargo build --release" >&2; exit 2; }
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(addprefix $(RELEASE)/,$(BINARIES)) $(DESTDIR)$(PREFIX)/bin

# Executables are told apart by their hash, so the folder they were built in must not be in them.
release examples: export RUSTFLAGS += --remap-path-prefix=$(CURDIR)=wiretrial
release: packages
	$(CARGO) build --workspace --locked --release --bins

examples: bench-packages
	$(CARGO) build --package wiretrial-stats --package wiretrial --locked --release --examples

packages:
	@.ci/packages build

test-packages:
	@.ci/packages test

bench-packages:
	@.ci/packages bench
