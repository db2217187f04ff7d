# The only entry points: make demo, test, lint, bench, install.
# Each does its own set-up; on a machine without the packages it says the command first.

CARGO ?= cargo
PREFIX ?= /usr/local
RELEASE := target/release
BINARIES := wiretrial wiretrial-generator wiretrial-receiver

.PHONY: demo test lint bench install packages release

## demo: build and run the demo campaign on real packets
demo: release
	$(RELEASE)/wiretrial run demo

## test: everything cargo tests, the live tests included
test: packages
	$(CARGO) build --workspace --locked --bins
	$(CARGO) test --workspace --locked --quiet

## lint: format, clippy and documentation, warnings as errors
lint: packages
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

## bench: what this host can see: the floor of equal arms, interleaved and sequential
bench: release
	.ci/bench $(RELEASE)

## install: put the three executables into PREFIX/bin
install: release
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(addprefix $(RELEASE)/,$(BINARIES)) $(DESTDIR)$(PREFIX)/bin

release: packages
	$(CARGO) build --workspace --locked --release --bins

packages:
	@.ci/packages
