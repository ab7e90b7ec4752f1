# Everything a newcomer needs: make, make demo, make test. Each installs what is missing first.
.PHONY: all setup build demo test check clean

all: build

setup:
	@scripts/setup

build: setup
	@mkdir -p out && cmake --preset release >out/configure.log 2>&1 || { cat out/configure.log; exit 1; }
	@cmake --build --preset release

demo: build
	@demo/demo

test: build
	@ctest --preset release

# The same tests under gcc and clang, debug builds and sanitizers: what CI runs beside `make test`.
check: build
	@scripts/setup --checks
	@scripts/check

clean:
	rm -rf build out
