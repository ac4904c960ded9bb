# Two commands are all a newcomer needs: `make run` and `make check`.
# The build itself is meson's; this file only strings its steps together.

BUILD  ?= build
PREFIX ?= /usr/local
CC     ?= gcc
WERROR ?= false

.PHONY: run check lint quick proof build glibc-build musl musl-build windows install bench sanitize attribution mutation fuzz kernels matrix systemd clean \
	packages-build packages-check packages-proof packages-bench packages-kernels packages-matrix

run: build
	@docs/demo.sh $(BUILD)/corral $(if $(CMD),"$$CMD")
export CMD

# Between two changes: two minutes on two processors that are idle, and no proof of anything else.
quick: packages-check build
	@/usr/bin/python3 tests/run.py --quick --build $(BUILD)

# The sanitized build is the developers': -Werror, and both compilers in the lints.  It is made while the first suites run.
check: packages-check build
	@! command -v $(MINGW) >/dev/null || $(MAKE) --no-print-directory windows WERROR=true
	@/usr/bin/python3 tests/run.py --build $(BUILD) --sanitized $(BUILD)-asan --sanitize 'make --no-print-directory sanitize'

# Every lint, also those that take minutes, which check leaves out.  CI runs both.
lint: packages-check build
	@/usr/bin/python3 tests/lint/lint.py --build $(BUILD)

# Every row of every suite, and the layers one by one; docs/proof.md has the result.  ONLY=hosts selects a suite.
# MINUTES=60 begins no other suite after an hour: the next proof begins with those that have no run, or the oldest.
proof: packages-proof build sanitize
	@$(MAKE) --no-print-directory windows WERROR=true
	@/usr/bin/python3 tests/run.py --proof --build $(BUILD) --sanitized $(BUILD)-asan $(if $(MINUTES),--minutes $(MINUTES)) $(ONLY)

# With the test programs for the targets that run them.
quick check lint proof: TESTS = true
build: packages-build
	@test -f $(BUILD)/build.ninja || CC=$(CC) meson setup $(BUILD) -Dtests=$(or $(TESTS),false) -Dwerror=$(WERROR) >/dev/null
	@test -z "$(TESTS)" || grep -q '^build tests/' $(BUILD)/build.ninja || meson configure $(BUILD) -Dtests=true >/dev/null
	@$(MAKE) --no-print-directory -j2 glibc-build $(shell command -v musl-gcc >/dev/null && echo musl-build)
	@! command -v musl-gcc >/dev/null || $(MAKE) --no-print-directory musl

glibc-build:
	@ninja -C $(BUILD) --quiet

# The same binary against musl, which starts in a third of the time: glibc asks
# the processor for its features, and in a virtual machine each question traps.
musl: musl-build
	@cmp -s $(BUILD)/musl/corral $(BUILD)/corral || cp $(BUILD)/musl/corral $(BUILD)/corral

musl-build:
	@test -f $(BUILD)/musl/build.ninja || meson setup $(BUILD)/musl --native-file packaging/musl.ini \
		-Donly_binary=true -Dtests=false -Dwerror=$(WERROR) >/dev/null
	@ninja -C $(BUILD)/musl --quiet corral

# build/windows/corral.exe, by a cross compiler (docs/windows.md).
MINGW := x86_64-w64-mingw32-gcc
windows:
	@test -f $(BUILD)/windows/build.ninja || meson setup $(BUILD)/windows --cross-file packaging/mingw.ini \
		-Dwerror=$(WERROR) >/dev/null
	@ninja -C $(BUILD)/windows --quiet

sanitize:
	@test -f $(BUILD)-asan/build.ninja || CC=$(CC) meson setup $(BUILD)-asan -Db_sanitize=address,undefined \
		-Dstatic_binary=false -Db_lundef=false -Dbuildtype=debug -Dwerror=true -Dc_args=-fno-sanitize-recover=all >/dev/null
	@ninja -C $(BUILD)-asan --quiet

# New inputs for TIME seconds a target; TARGET='plan channel' chooses.
TIME ?= 60
fuzz: packages-check
	@test -f $(BUILD)-fuzz/build.ninja || CC=clang meson setup $(BUILD)-fuzz -Db_sanitize=address,undefined \
		-Dstatic_binary=false -Db_lundef=false -Dbuildtype=debugoptimized -Dfuzz=true >/dev/null
	@ninja -C $(BUILD)-fuzz --quiet fuzzers
	@/usr/bin/python3 tests/fuzz/run.py --build $(BUILD)-fuzz --time $(TIME) $(TARGET)

install: build
	@meson setup --reconfigure $(BUILD) -Dprefix=$(abspath $(PREFIX)) >/dev/null
	meson install -C $(BUILD) --no-rebuild

# Tables, build/bench.json and docs/performance.md; the head of tests/bench/run.py has the variables.
bench: packages-bench build
	@/usr/bin/python3 tests/bench/run.py --build $(BUILD)

# Programs with a hole in them, built from a scratch copy and run as an ordinary
# account: whether the escape rows see what they claim to see.  Minutes and hours;
# not a part of check.  ONLY names rows or tables, SAMPLE how many of the mutants.
attribution mutation: packages-check build
	@meson configure $(BUILD) -Dtests=true >/dev/null && ninja -C $(BUILD) --quiet tests/escape/probe
	@/usr/bin/python3 tests/mutation/$(@:mutation=mutate).py --probe $(BUILD)/tests/escape/probe \
		--place $(BUILD)/mutation $(if $(ONLY),--only $(ONLY)) $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(MINUTES),--minutes $(MINUTES))

# Debian's kernels in emulated machines, one after the other; the whole quick set takes an hour for each configuration.
# KERNEL='6.1 7' chooses, SAMPLE=10 takes every tenth row, ROWS=quick all quick ones;
# SLICES=10 MINUTES=60 continues later, on any machine, AT_ONCE=2 uses two processors.  docs/kernels.md has the result.
kernels: packages-kernels build
	@meson configure $(BUILD) -Dtests=true >/dev/null && ninja -C $(BUILD) --quiet tests/escape/probe
	@/usr/bin/python3 tests/kernels/run.py --build $(BUILD) --place $(BUILD)/kernels --kept docs/kernels.jsonl \
		--document docs/kernels.md \
		$(if $(ROWS),--rows $(ROWS)) $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SLICES),--slices $(SLICES)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(AT_ONCE),--at-once $(AT_ONCE)) $(KERNEL)

# `make check` as a newcomer may meet it: busy, on one processor, as an ordinary user, with other Nodes, in new roots
# of Debian; an attempt combines some of them.  Hours; CIRCUMSTANCE='busy user' chooses the attempts with both; docs/matrix.md.
matrix: packages-matrix
	@/usr/bin/python3 tests/matrix/run.py --place $(abspath $(BUILD))-matrix --document docs/matrix.md $(CIRCUMSTANCE)

# One machine with Debian's systemd: limits of a user in a login session.
systemd: packages-kernels build
	@meson configure $(BUILD) -Dtests=true >/dev/null && ninja -C $(BUILD) --quiet tests/escape/probe
	@/usr/bin/python3 tests/kernels/systemd.py --build $(BUILD) --place $(BUILD)/kernels $(if $(ONLY),--only $(ONLY))

packages-build packages-check packages-proof packages-bench packages-kernels packages-matrix:
	@packaging/packages.sh $(@:packages-%=%)

clean:
	rm -rf build build-*
