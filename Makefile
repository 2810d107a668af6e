# SPDX-License-Identifier: GPL-2.0
#
# The dispatcher: every part of the tree is built by its own makefile.
#
# Modules are built in build/KVER, so that those for several kernels live side by side; nothing is
# written next to their sources.  Values are looked up when they are used, not when this file is
# read: `make deps` may just have installed the kernel headers.

KVER	?= $(lastword $(shell printf '%s\n' /lib/modules/*/build/Makefile | sed -n 's|^/lib/modules/\([^*]*\)/build/Makefile$$|\1|p' | sort -V))
KDIR	?= /lib/modules/$(KVER)/build
BUILD	 = build/$(KVER)
PREFIX	?= /usr/local
JOBS	?= $(shell nproc)

MODDIR	 = $(DESTDIR)/lib/modules/$(KVER)/updates/dm-tier
SBINDIR	 = $(DESTDIR)$(PREFIX)/sbin
MANDIR	 = $(DESTDIR)$(PREFIX)/share/man

MAKEFLAGS += --no-print-directory

# What kbuild makes, and so what copying the sources must leave alone.
KBUILD_PRODUCTS := *.o *.gcno *.ko *.mod *.mod.c .*.cmd *.symversions Module.symvers modules.order .tmp_* .lock
KBUILD_ARGS	 = W=1 CONFIG_DEBUG_INFO_BTF_MODULES=
TEST_ENV	 = KVER=$(KVER) TIER_BUILD=$(CURDIR)/$(BUILD)

.PHONY: help
help:			## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | expand -t 16
	@printf '\nvariables: KVER=%s KDIR=%s PREFIX=%s DESTDIR= JOBS=%s\n' "$(KVER)" "$(KDIR)" "$(PREFIX)" "$(JOBS)"

.PHONY: deps
deps:			## install the Debian packages that building and testing need (root)
	@tests/deps.sh

.PHONY: sources
sources:
	@test -n "$(KVER)" || { echo "no kernel headers installed: run make deps, or give KVER=" >&2; exit 1; }
	@mkdir -p $(BUILD)
	@flock $(BUILD)/.lock rsync -a --delete $(KBUILD_PRODUCTS:%=--exclude='%') Kbuild dm-tier policy $(BUILD)/

# With KDIR of another kernel there would be modules that KVER does not load.
.PHONY: kdir
kdir:
	@rel=$$(sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$(KDIR)/include/generated/utsrelease.h" 2>/dev/null); \
	test -z "$$rel" || test "$$rel" = "$(KVER)" || { echo "KDIR=$(KDIR) is for kernel $$rel, not KVER=$(KVER)" >&2; exit 1; }

.PHONY: modules
modules: kdir sources	## the kernel modules, for KVER, into build/KVER
	@if [ -e "$(KDIR)/Makefile" ]; then \
		flock $(BUILD)/.lock $(MAKE) -C "$(KDIR)" M="$(CURDIR)/$(BUILD)" $(KBUILD_ARGS) modules; \
	else \
		flock $(BUILD)/.lock tests/kernels.sh build "$(KVER)" "$(CURDIR)/$(BUILD)" $(KBUILD_ARGS) modules; \
	fi

.PHONY: tools
tools:			## the userspace programs
	@$(MAKE) -C userspace all

.PHONY: unit
unit:			## the unit tests' programs
	@$(MAKE) -C tests/unit all
	@$(MAKE) -C tests/tools all

.PHONY: hddsim
hddsim: build/hddsim.so	## the hard disk simulator of the virtual machines (an nbdkit plugin)

build/hddsim.so: tests/vm/hddsim.c
	@mkdir -p build
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -o $@.tmp $< -lm && mv $@.tmp $@

.PHONY: build
build:			## all that is built: modules, tools, unit tests, hddsim
	@$(MAKE) modules
	@$(MAKE) tools
	@$(MAKE) unit
	@$(MAKE) hddsim
	@$(MAKE) mdtest

.PHONY: mdtest
mdtest: kdir		## the test module for the metadata code, for KVER
	@tests/vm/mdtest/build.sh $(KVER)

.PHONY: demo
demo:			## from nothing to a working cache in a virtual machine
	@$(MAKE) deps
	@$(MAKE) modules
	@$(MAKE) tools
	@$(MAKE) hddsim
	@$(TEST_ENV) tests/demo/demo.sh

.PHONY: check
check:			## all tests: static checks, unit, tools, virtual machines
	@$(MAKE) deps
	@$(MAKE) build
	@$(TEST_ENV) tests/run -j $(JOBS) tests/lint.t $(wildcard tests/unit tests/tools) tests/vm

.PHONY: check-long
check-long:		## the same and those that take hours
	@tests/deps.sh --more
	@$(MAKE) build
	@$(TEST_ENV) TIER_LONG=1 tests/run -j $(JOBS) -t 86400 tests/lint.t $(wildcard tests/unit tests/tools) tests/vm $(wildcard tests/long)

.PHONY: check-vm
check-vm:		## only the virtual machines' tests, on KVER
	@$(MAKE) build
	@$(TEST_ENV) tests/run -j $(JOBS) $(filter-out tests/vm/60-newer-kernel.t,$(wildcard tests/vm/*.t))

.PHONY: check-kernels
check-kernels:		## the same on 6.1, 6.12 and the newest 7, as far as they can be had
	@$(MAKE) deps
	@tests/check-kernels

# The kernel is slow: times are multiplied.  Left out: 60-newer-kernel has another kernel.
.PHONY: check-debug
check-debug:		## the virtual machines' tests on a kernel with KASAN, lockdep, kmemleak, ...; stress of TIER_STRESS seconds
	@tests/deps.sh --more
	@ver=$$(tests/debug-kernel.sh | tail -n 1) && test -n "$$ver" && $(MAKE) check-debug-on KVER=$$ver KDIR=

.PHONY: check-debug-on
check-debug-on:
	@$(MAKE) build
	@$(TEST_ENV) TIER_SLOW=$(or $(TIER_SLOW),6) tests/run -t 86400 tests/debug \
		$(filter-out tests/vm/60-newer-kernel.t,$(wildcard tests/vm/*.t))

# Two processors are needed, so one test at a time.
.PHONY: check-races
check-races:		## tests that do much at once on a kernel with KCSAN, which looks for data races in the modules
	@tests/deps.sh --more
	@ver=$$(tests/debug-kernel.sh --kcsan | tail -n 1) && test -n "$$ver" && $(MAKE) check-races-on KVER=$$ver KDIR=

.PHONY: check-races-on
check-races-on:
	@$(MAKE) build
	@$(TEST_ENV) TIER_SLOW=$(or $(TIER_SLOW),6) tests/run -t 86400 tests/race

.PHONY: bench
bench:			## dm-tier beside other caches, takes hours; WORKLOADS='A C': some; TRACES='FILE|DIRECTORY...' alone: the policies, on these
ifeq ($(if $(WORKLOADS),,$(TRACES)),)
	@tests/deps.sh --more
	@$(MAKE) modules
	@$(MAKE) tools
	@$(MAKE) -C tests/tools all
	@$(MAKE) hddsim
	@$(TEST_ENV) tests/bench/run
else
	@$(MAKE) tools
	@tests/bench/policies $(TRACES)
endif

.PHONY: lint
lint:			## all static checks that can be had here (tests/lint.sh); make check has all but coccinelle
	@KVER=$(KVER) KDIR=$(KDIR) JOBS=$(JOBS) tests/lint.sh --long

.PHONY: coverage
coverage:		## the lines that the unit tests and the tests of the tools run, per file
	@tests/coverage --jobs $(JOBS)

# One kernel more, tests/debug-kernel.sh: it keeps the counts.
.PHONY: coverage-kernel
coverage-kernel:	## the lines of the modules that the virtual machines' tests run; CASES='io-race tiered': only these
	@tests/deps.sh --more
	@ver=$$(tests/debug-kernel.sh | tail -n 1) && test -n "$$ver" && tests/coverage --kernel $$ver --jobs $(JOBS) $(CASES)

.PHONY: install
install:		## modules, programs, man pages (KVER, PREFIX, DESTDIR)
	@$(MAKE) modules
	@$(MAKE) tools
	install -d $(MODDIR) $(SBINDIR)
	find $(BUILD)/dm-tier $(BUILD)/policy -name '*.ko' -exec install -m 644 -t $(MODDIR) {} +
	if [ -z "$(DESTDIR)" ]; then depmod $(KVER); fi
	$(MAKE) -C userspace install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

.PHONY: uninstall
uninstall:		## what install has put there
	rm -rf $(MODDIR)
	if [ -z "$(DESTDIR)" ]; then depmod $(KVER); fi
	$(MAKE) -C userspace uninstall PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

.PHONY: clean
clean:			## everything that was built
	rm -rf build
	@for d in userspace tests/unit tests/tools; do [ ! -e $$d/Makefile ] || $(MAKE) -C $$d clean || exit; done
