# SPDX-License-Identifier: Apache-2.0
# Common tasks; meson does the work.  `make help` lists them.
PREFIX ?= /usr/local
FUZZ_TIME ?= 600
DAMAGE_COUNT ?= 10000
MINUTES ?= 60

# Under sudo, build as the owner of the checkout, who could not overwrite files of root later.
own := $(shell [ "$$(id -u)" != 0 ] || [ "$(SUDO_UID)" != "$$(stat -c %u .)" ] || echo runuser -u $(SUDO_USER) --)

all: setup-build ## build/sonde
	@$(own) tools/configure build
	@$(own) ninja -C build use

test: setup-test ## all builds and all tests: unit, golden, style, live and fuzz
	@tools/run_tests

check: setup-test ## unit, golden and style tests: no privileges, under a minute
	@tools/run_tests check

demo: setup-demo all ## three small services with two faults, recorded and explained
	@demo/run build

demo-bank: setup-bank all ## a bank in Python and C++ with a fault, recorded and explained
	@demo/bank/run --build build --fault lock

bench: setup-bench all ## the cost of recording and reading, next to other tracers
	@ninja -C build use bench
	@bench/run build

lab-faults: setup-faults all ## services with known faults, explained and compared with the truth
	@tests/faults/lab.py --build build/faults --sonde build/sonde $(FAULTS)

lab: setup-lab all ## the diagnosis lab: known faults in several services, diagnosed; up to an hour
	@ninja -C build lab
	@lab/lab.py --build build $(LAB)

lab-short: setup-lab all ## a few cases of each class of the diagnosis lab, 5 minutes
	@ninja -C build lab
	@lab/lab.py --build build --short $(LAB)

fuzz: setup-test ## run each fuzzer for FUZZ_TIME seconds
	@tools/run_tests fuzz $(FUZZ_TIME)

damage: setup-test ## read each sample trace, damaged at random, DAMAGE_COUNT times
	@tools/run_tests damage $(DAMAGE_COUNT)

soak: setup-bank all ## run sonde top on the bank for MINUTES, with faults that come and go
	@ninja -C build all
	@tests/soak/soak.py build $(MINUTES)

robust: setup-test all ## kill and stall the processes of sonde top a thousand times
	@ninja -C build all
	@tests/soak/robust build

flight: setup-test all ## plant 100 slow requests in ten minutes, and find each in a capture
	@ninja -C build sonde
	@SONDE=build/sonde tests/flight/planted.py

jaeger: setup-bank setup-jaeger all ## the bank with each of its faults, explained in a real Jaeger
	@ninja -C build use
	@tests/annotate/jaeger.py build $(FAULTS)

mutate: setup-test ## list small changes to FILES that no test detects (MUTATE: options)
	@tools/mutate $(MUTATE) $(FILES)

install: all ## install to PREFIX (/usr/local), below DESTDIR
	@mkdir -p $(DESTDIR)$(PREFIX) 2>/dev/null && [ -w $(DESTDIR)$(PREFIX) ] || { echo \
		"make: cannot write to '$(DESTDIR)$(PREFIX)': use sudo make install, or make install PREFIX=$$HOME/.local" >&2; exit 1; }
	@$(own) meson configure build -Dprefix=$(PREFIX)
	@$(own) ninja -C build use
	@meson install -C build --no-rebuild
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@chown --reference=build build/meson-logs/install-log.txt

uninstall: ## remove what was installed last
	@ninja -C build uninstall

format: setup-test ## format all C files
	@tools/format

clean: ## remove all builds
	@rm -rf build build-clang build-mutate

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# The headers of the C++ SDK are optional: without them, the agent has no binding for C++, and
# `sonde doctor` reports that.
setup-%:
	@tools/setup build $(filter-out build,$*)
	@$(own) tools/backports build/otel-cpp opentelemetry-cpp-dev libabsl-dev || [ $$? = 77 ]

.NOTPARALLEL:
.PHONY: all test check demo demo-bank bench lab-faults lab lab-short fuzz damage soak robust flight jaeger mutate install uninstall format clean help
