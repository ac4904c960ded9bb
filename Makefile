# Two commands are all a newcomer needs: `make run` and `make check`.
# The build itself is meson's; this file only strings its steps together.

BUILD  ?= build
PREFIX ?= /usr/local
CC     ?= gcc
WERROR ?= false

.PHONY: run check build install bench sanitize clean packages-build packages-check packages-bench

run: build
	@docs/demo.sh $(BUILD)/corral $(if $(CMD),"$$CMD")
export CMD

check: packages-check
	@$(MAKE) --no-print-directory build WERROR=true
	@$(MAKE) --no-print-directory sanitize
	@/usr/bin/python3 tests/run.py --build $(BUILD) --sanitized $(BUILD)-asan

build: packages-build
	@test -f $(BUILD)/build.ninja || CC=$(CC) meson setup $(BUILD) -Dprefix=$(PREFIX) >/dev/null
	@meson configure $(BUILD) -Dwerror=$(WERROR) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD) $(if $(filter true,$(WERROR)),,--quiet)

sanitize:
	@test -f $(BUILD)-asan/build.ninja || CC=$(CC) meson setup $(BUILD)-asan -Db_sanitize=address,undefined \
		-Dstatic_binary=false -Db_lundef=false -Dbuildtype=debug -Dwerror=true >/dev/null
	@ninja -C $(BUILD)-asan --quiet

install: build
	meson install -C $(BUILD) --no-rebuild

bench: packages-bench build
	@tests/bench/run.sh $(BUILD)

packages-build packages-check packages-bench:
	@packaging/packages.sh $(@:packages-%=%)

clean:
	rm -rf build build-*
