# Everything a newcomer needs: make, make demo, make test. Each installs what is missing first.
.PHONY: all setup build demo test model bench evaluation check install clean

all: build

setup:
	@scripts/setup

build: setup
	@mkdir -p out && cmake --preset release $(cmake_options) >out/configure.log 2>&1 || { cat out/configure.log; exit 1; }
	@cmake --build --preset release

demo: build
	@demo/demo

test: build
	@ctest --preset release

# Every scenario of the checker to its end, every letter and mutant, with a report in out/model.
model: build
	@model/run

# Beside the locks of other libraries, which it installs.
bench: setup
	@scripts/setup --bench
	@$(MAKE) --no-print-directory build cmake_options=-DREADMOST_RIVALS=ON
	@bench/run

# What the papers measured, in half an hour: out/evaluation/report.html.
evaluation: setup
	@scripts/setup --bench
	@$(MAKE) --no-print-directory build cmake_options=-DREADMOST_RIVALS=ON
	@mkdir -p out/evaluation
	@build/bin/readmost bench all --output out/evaluation/results.json
	@build/bin/readmost report out/evaluation/report.html --results out/evaluation/results.json

# Formatting, the other compiler, a debug build, sanitizers, arm64 and the Debian packages; CI runs a
# part of it (.ci/run).
check: build
	@scripts/setup --checks
	@scripts/check

# make install PREFIX=/usr DESTDIR=/tmp/root; run ldconfig afterwards if programs link libreadmost.so.
PREFIX ?= /usr/local
install: build
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean:
	rm -rf build out
