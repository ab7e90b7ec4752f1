# SPDX-License-Identifier: Apache-2.0
# The commands that a newcomer needs: make, make demo, make test. Each first installs missing
# packages, builds only the programs that it runs, and prints the time that each stage took.
.PHONY: all build demo build-tests test model bench evaluation check kernel-test install clean

stage = @scripts/stage

all: build

# The library, the preloaded library, the command and the examples.
build:
	$(call build-programs,start)

# Only the programs that it runs.
demo:
	$(call build-programs,demo)
	$(stage) demo demo/demo

define build-programs
	$(stage) install scripts/setup
	$(stage) configure scripts/configure -DBUILD_TESTING=OFF -DREADMOST_BENCHMARKS=OFF
	$(stage) build cmake --build --preset release --target $(1)
endef

build-tests:
	$(stage) install scripts/setup --tests
	$(stage) configure scripts/configure -DBUILD_TESTING=ON -DREADMOST_BENCHMARKS=ON
	$(stage) build cmake --build --preset release

# TESTS: further options of ctest.
test: build-tests
	$(stage) test ctest --preset release $(TESTS)

# Every scenario of the checker to its end, every letter and mutant, with a report in out/model.
model: build-tests
	$(stage) model model/run

# Operations of locks and RCU beside those of other libraries, which it installs: tables, and
# out/bench/results.json.
bench: build-evaluation
	@mkdir -p out/bench
	@build/bin/readmost bench operations --tables --output out/bench/results.json

# The papers' measurements and simulations, in 40 minutes: out/evaluation/report.html.
evaluation: build-evaluation
	@mkdir -p out/evaluation
	@build/bin/readmost bench all --output out/evaluation/results.json
	@build/bin/readmost report out/evaluation/report.html --results out/evaluation/results.json

.PHONY: build-evaluation
build-evaluation:
	$(stage) install scripts/setup --evaluation
	$(stage) configure scripts/configure -DBUILD_TESTING=ON -DREADMOST_BENCHMARKS=ON -DREADMOST_RIVALS=ON
	$(stage) build cmake --build --preset release

# The Rust crates: builds and tests them and runs each benchmark once. Needs cargo, and its registry.
.PHONY: rust rust-package
rust:
	$(stage) install scripts/setup
	$(stage) 'test rust' scripts/rust test
	$(stage) 'bench rust' scripts/rust bench

# Both crates as they would be published, in out/rust/package, built from there.
rust-package:
	$(stage) 'package rust' scripts/rust package

# The checks that make test leaves out: formatting, the instructions of each lock, the long tests, the
# whole model, the other compiler, a debug build, sanitizers, arm64 and the Debian packages. CI runs a
# part of it (.ci/run).
check: build-tests
	$(stage) install scripts/setup --checks
	@scripts/check

# The kernel module, tortured in guests of the distribution's kernel: docs/kernel.md.
kernel-test:
	$(stage) install scripts/setup --kernel
	@kernel/harness/run

# The distribution's kernel source with the patches of kernel/patches, built and tested in guests: docs/kernel.md.
.PHONY: kernel-check
kernel-check:
	$(stage) install scripts/setup --kernel
	@kernel/harness/check

# A kernel with KASAN, kmemleak, lockdep and PROVE_RCU, which watches the module: docs/kernel.md.
.PHONY: kernel-debug
kernel-debug:
	$(stage) install scripts/setup --kernel
	@kernel/harness/debug

# The libraries and the command for musl, for three machines, and their tests: docs/porting.md.
.PHONY: musl
musl:
	$(stage) install scripts/setup --musl
	$(stage) musl scripts/musl

# The Conan recipe, the bill of materials and the container recipe. Needs PyPI.
.PHONY: packaging
packaging: build
	$(stage) install scripts/setup --tests
	$(stage) packaging packaging/test

# make install PREFIX=/usr DESTDIR=/tmp/root; run ldconfig afterwards if programs link libreadmost.so.
PREFIX ?= /usr/local
install: build
	$(stage) 'build the rest' cmake --build --preset release
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean:
	rm -rf build out
