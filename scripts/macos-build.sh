#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds corral for macOS.  On a Mac: scripts/macos-build.sh OUT.  Elsewhere it makes Mach-O objects with clang and the
# declarations of src/macos/sdk, and links them with ld64.lld where the functions of macOS are looked up at start:
#
#   scripts/macos-build.sh OUT arm64|x86_64
#
# The second form proves that the code compiles, and nothing else.  It also compiles the rooms that corral for macOS does
# not link yet, and that are for every system; the headers of jansson, libyaml and libsodium are those of this
# machine.
set -eu
cd "$(dirname "$0")/.."
out=$1
arch=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The parts of Corral that corral for macOS has: no policy files, no gate, no audit log.
sources="
$(for name in arena buf emit err float glob hostname ip path rfc3339 run_id str; do echo "src/base/$name.c"; done)
$(for name in command_rule doc_tree endpoint host_rule net number origin rule settle subset toml toml_scalar value; do
	echo "src/policy/$name.c"
done)
$(find src/data/*.c | grep -v _generate.c)
$work/name_globs.c
$(find src/plan/*.c src/plan/git/*.c src/plan/net/*.c src/plan/seatbelt/*.c |
	grep -v -e /snapshot -e /fingerprint -e /explain -e /prompt -e /refusal -e /git/settings -e /git/obeyed)
src/run/bare_result.c
src/run/capture.c
$(ls src/macos/*.c)"

flags="-std=gnu17 ${OPTIMIZE:--O2} -Isrc -Iinclude -include src/base/banned.h -Wall -Wextra -Wno-missing-field-initializers
-Wno-sign-compare -ffunction-sections"

# The built-in patterns, parsed by a program of this machine.
cc -std=gnu17 -D_GNU_SOURCE -Isrc -Iinclude -o "$work/generate" src/data/name_globs_generate.c src/data/names.c \
	src/base/arena.c src/base/err.c src/base/errno_name.c src/base/glob.c src/base/str.c
"$work/generate" > "$work/name_globs.c"

if [ -n "$arch" ]; then
	mkdir "$work/libraries"
	for header in /usr/include/jansson.h /usr/include/sodium.h /usr/include/sodium /usr/include/yaml.h /usr/include/jansson_config.h \
		/usr/include/*/jansson_config.h; do
		[ ! -e "$header" ] || ln -sf "$header" "$work/libraries/"
	done
	for room in data policy command plan net leak files vault audit backend; do
		# shellcheck disable=SC2086,SC2046  # the flags and the files are words
		${CLANG:-clang} -target "$arch-apple-macos13" -nostdlibinc -isystem src/macos/sdk -isystem "$work/libraries" -Werror \
			$flags -fsyntax-only $(find "src/$room" -name '*.c' ! -name '*generate*' ! -name rows_linux.c) \
			src/base/beneath_macos.c src/base/reserve.c src/base/storage.c
		echo "$room compiles for macOS"
	done
fi

objects=
for file in $sources; do
	object="$work/$(echo "$file" | tr / _).o"
	# shellcheck disable=SC2086  # the flags are words
	if [ -n "$arch" ]; then
		${CLANG:-clang} -target "$arch-apple-macos13" -nostdlibinc -isystem src/macos/sdk -Werror $flags -c "$file" -o "$object"
	else
		cc $flags -c "$file" -o "$object"
	fi
	objects="$objects $object"
done

# shellcheck disable=SC2086  # the objects are words
if [ -z "$arch" ]; then
	cc -Wl,-dead_strip -o "$out" $objects
elif command -v "${LD64:-ld64.lld-14}" >/dev/null; then
	"${LD64:-ld64.lld-14}" -arch "$arch" -platform_version macos 13.0 13.0 -undefined dynamic_lookup -dead_strip \
		-e _main -o "$out" $objects
else
	echo "no ld64.lld: compiled, but not linked" >&2
fi
