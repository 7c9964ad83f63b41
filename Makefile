# schedlab. `make` alone lists the verbs.

# Where rustup puts cargo, for shells whose PATH lacks it.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help setup build demo python deb deb-test install-test static static-test test lint fuzz sanitize soak endings bench studies playground docs docs-test clean

help: ## list these verbs
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## install what the build needs: a C and a BPF compiler, Rust
	@tools/setup

build: setup ## make target/release/schedlab; cargo needs no network for it
	CARGO_NET_OFFLINE=true cargo build --release --locked -p schedlab

demo: build ## compare schedulers on a busy machine, simulated and on this machine
	target/release/schedlab compare scenarios/heavy-load.toml --policy fcfs,rr,mlfq
	@# Exit code 3: other programs took too much of this machine for a conclusion. Everything was shown.
	target/release/schedlab compare scenarios/heavy-load.toml --policy rr,mlfq --venue sim,host --duration 20s || [ $$? -eq 3 ]

python: ## make the Python package in target/wheels
	@tools/setup python
	@tools/python wheel

deb: build ## make the Debian package in target/deb
	@tools/deb

deb-test: deb ## install the Debian package into a clean root and use it there
	@tools/setup deb
	@tools/deb test

install-test: python ## use the Python package and what cargo installs, as an ordinary user without network and home
	@tools/installed wheel
	@tools/installed cargo

static: setup ## make one static file for any Linux, which only simulates
	@tools/static

static-test: static ## use it where nothing else is
	@tools/static test

test: ## run every test
	@tools/setup test
	@tools/test

lint: ## check form, warnings, words and house rules
	@tools/setup python
	@tools/lint

fuzz: setup ## attack every entry point for untrusted input, SECONDS=60 each, or only TARGETS="import run"
	cargo run --locked -p schedlab-fuzz -- --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) $(TARGETS)

sanitize: setup ## run tests under Miri and the address sanitizer, with a nightly compiler
	@tools/sanitize

soak: build ## search all policies for faults, BUDGET=2min each, from a seed that is printed; SEED=N repeats it
	@tools/soak target/release/schedlab

endings: build ## end every command in every way, and write what remains and what it printed
	@tools/setup vm
	@tools/endings target/release/schedlab

bench: setup ## measure speed
	cargo run --release --locked -p schedlab-bench

studies: build ## run all studies and write their pages into docs/studies
	@tools/setup studies
	@tools/studies

playground: ## make the simulator in a page, target/playground.html
	@tools/setup playground
	@tools/playground

docs: build python playground ## make the site in target/site, and the libraries' reference in target/doc
	@tools/python site
	cargo doc --locked --workspace --no-deps

docs-test: docs ## ask the site's search a reader's questions, in a browser
	@tools/setup test
	@node tools/search/check.mjs

clean: ## remove what was built
	cargo clean
