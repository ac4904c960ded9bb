#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds everything with one compiler, from nothing; runs no tests, which need more than a container allows.
#
#     packaging/compile.sh gcc|clang|musl|arm64|windows|macos [BUILD-DIRECTORY]
#
# What the forges' workflows call, so that a person can repeat what they do.
#
# Should:   treat every warning as an error.
# Must not: leave a build that another call could mistake for its own: each has a directory.
# Fails:    at the first command that fails.
set -eu
cd "$(dirname "$0")/.."
compiler=${1-}
build=${2-build-$compiler}

# Debian's libraries of the other architecture, unpacked and not installed: the machine's own set of
# architectures stays as it is.
arm64_libraries() {
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/packages"
	top=$(cd "$1" && pwd)
	set -- -qq -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 \
		-o Dir::State::lists="$top/lists" -o Dir::Cache="$top/cache" -o APT::Sandbox::User=root
	apt-get "$@" update
	(cd "$top/packages" && apt-get "$@" download libjansson-dev:arm64 libjansson4:arm64 \
		libyaml-dev:arm64 libyaml-0-2:arm64 libsodium-dev:arm64 libsodium23:arm64 \
		libsqlite3-dev:arm64 libsqlite3-0:arm64)
	for package in "$top"/packages/*.deb; do
		dpkg-deb -x "$package" "$top/root"
	done
	printf "[properties]\nsys_root = '%s'\npkg_config_libdir = '%s'\n" \
		"$top/root" "$top/root/usr/lib/aarch64-linux-gnu/pkgconfig" >"$top/root.ini"
}

case $compiler in
gcc | clang)
	packaging/packages.sh "$(echo "$compiler" | sed s/gcc/build/)"
	CC=$compiler meson setup "$build" -Dwerror=true
	ninja -C "$build"
	;;
musl)
	packaging/packages.sh build
	meson setup "$build" --native-file packaging/musl.ini -Donly_binary=true -Dtests=false -Dwerror=true
	ninja -C "$build" corral
	"$build/corral" --version
	;;
arm64)
	packaging/packages.sh arm64
	arm64_libraries "$build-libraries"
	meson setup "$build" --cross-file packaging/arm64.ini --cross-file "$build-libraries/root.ini" \
		-Dtests=false -Dwerror=true # the tests make system calls that only x86-64 has
	ninja -C "$build"
	# e_machine of its ELF header.
	machine=$(od -An -tx1 -j18 -N2 "$build/corral" | tr -d ' ')
	[ "$machine" = b700 ] || {
		echo "compile: $build/corral is not an AArch64 program" >&2
		exit 1
	}
	;;
windows)
	packaging/packages.sh windows
	meson setup "$build" --cross-file packaging/mingw.ini -Dwerror=true
	ninja -C "$build"
	;;
macos)
	packaging/packages.sh macos
	mkdir -p "$build"
	/usr/bin/python3 tests/seatbelt/compile.py >"$build/tap"
	cat "$build/tap"
	! grep -E '^not ok|# SKIP' "$build/tap"
	;;
*)
	echo "usage: packaging/compile.sh gcc|clang|musl|arm64|windows|macos [BUILD-DIRECTORY]" >&2
	exit 2
	;;
esac
