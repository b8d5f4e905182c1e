# SPDX-License-Identifier: Apache-2.0
# Meson does the work; this is its front door.  `make help` lists what there is.
PREFIX ?= /usr/local
FUZZ_TIME ?= 600
DAMAGE_COUNT ?= 10000

# Whose checkout this is builds in it, also under sudo: root's files could not be built anew later.
own := $(shell [ "$$(id -u)" != 0 ] || [ "$(SUDO_UID)" != "$$(stat -c %u .)" ] || echo runuser -u $(SUDO_USER) --)

all: setup-build ## build/sonde
	@$(own) tools/configure build
	@$(own) ninja -C build use

test: setup-test ## everything: all builds, unit, golden, style, live and fuzz tests
	@tools/run_tests

check: setup-test ## unit, golden and style tests: no privileges, under a minute
	@tools/run_tests check

demo: setup-demo all ## three small services with a known trouble, recorded and explained
	@demo/run build

demo-bank: setup-bank all ## a bank in Python and C++ with a known trouble, recorded and explained
	@demo/bank/run --build build --fault lock

bench: setup-bench all ## what recording and reading cost, beside other tracers
	@ninja -C build use bench
	@bench/run build

fuzz: setup-test ## the fuzzers, for FUZZ_TIME seconds each
	@tools/run_tests fuzz $(FUZZ_TIME)

damage: setup-test ## each sample trace damaged at random and read, DAMAGE_COUNT times
	@tools/run_tests damage $(DAMAGE_COUNT)

mutate: setup-test ## small changes to FILES, one at a time: which ones does no test notice? (MUTATE: options)
	@tools/mutate $(MUTATE) $(FILES)

install: all ## into PREFIX (/usr/local), below DESTDIR
	@mkdir -p $(DESTDIR)$(PREFIX) 2>/dev/null && [ -w $(DESTDIR)$(PREFIX) ] || { echo \
		"make: $(DESTDIR)$(PREFIX) cannot be written: sudo make install, or make install PREFIX=$$HOME/.local" >&2; exit 1; }
	@$(own) meson configure build -Dprefix=$(PREFIX)
	@$(own) ninja -C build use
	@meson install -C build --no-rebuild
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@chown --reference=build build/meson-logs/install-log.txt

uninstall: ## what was installed last
	@ninja -C build uninstall

format: setup-test ## lay out all C files
	@tools/format

clean: ## forget all builds
	@rm -rf build build-clang build-mutate

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# Without the SDK's headers, the agent has no binding for C++; `sonde doctor` says so.
setup-%:
	@tools/setup build $(filter-out build,$*)
	@$(own) tools/backports build/otel-cpp opentelemetry-cpp-dev libabsl-dev || [ $$? = 77 ]

.NOTPARALLEL:
.PHONY: all test check demo demo-bank bench fuzz damage mutate install uninstall format clean help
