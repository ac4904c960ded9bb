#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what a purpose needs from Debian's packages, and says so first.
#
#     packages.sh build|clang|arm64|windows|macos|check|proof|bench|kernels|matrix
#
# Prints nothing and changes nothing when everything is there.
set -eu

# musl-tools: the binary that starts fastest.  zlib1g-dev: Debian 13's static libsqlite3 needs it.
build='gcc libc6-dev make meson ninja-build pkg-config libjansson-dev libyaml-dev libsodium-dev libsqlite3-dev zlib1g-dev musl-tools'

# The second compiler, and those for another architecture and other systems, each for a build alone.
clang="$build clang"
arm64="$build gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
windows='meson ninja-build gcc-mingw-w64-x86-64'
macos='python3 gcc libc6-dev clang lld llvm libjansson-dev libyaml-dev libsodium-dev'

# libseccomp: the filter is compared with it.  clang: the second compiler.
# clang-tidy, cppcheck, shellcheck: further readers of the code, for the lints.
# The compilers for aarch64 and riscv64: the other architectures.  mandoc: the manual is checked.
# python3-yaml: the workflows are checked.  strace, valgrind: the cost of a run is counted.
# openssl, dropbear-bin, iproute2: the network lab's certificates, its SSH server, its cable.
# python3-grpcio: both ends of gRPC there.  e2fsprogs: lsattr, which a verdict asks.
# The rest is the real work that runs inside the sandbox.
check="$build libseccomp-dev clang clang-format clang-tidy cppcheck shellcheck
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross mandoc python3 python3-yaml
	git gdb strace valgrind python3-venv python3-pytest nodejs npm postgresql curl jq iproute2 procps cmake sqlite3 xz-utils zip unzip
	openssh-client openssl dropbear-bin python3-grpcio gnupg tmux patch psmisc rsync
	util-linux libcap2-bin netcat-openbsd e2fsprogs"

# Every toolchain, service and tool that a row of the compatibility corpus needs;
# without one its rows are skipped and say so.  libclang-rt: the fuzzers.
# podman, crun, uidmap: a rootless container, one of the hosts of tests/hosts.
# docker.io, runc, catatonit: the other engine, and what both need for tests/docker.  rootlesskit: dockerd of a user.
# containerd: with runc and python3-grpcio the pods of tests/hosts/cri.py; containernetworking-plugins: their network.
# lxc, systemd-container, runsc: containers without such an engine, and gVisor's kernel (tests/hosts/managers.py).
# spin: the model of who ends whom, src/linux/lifetime.pml.
# lld, llvm: ld64.lld and llvm-nm, for corral for macOS (tests/seatbelt).
# gcc-mingw-w64-x86-64, wine, wine64: corral.exe, and what of it runs here (tests/windows).
# chromium: the page of `corral ui` in a browser.
# aria2, mariadb-client-core, wget2, python3-aiohttp, -httpx, -websockets: clients in the network lab.
proof="$check libclang-rt-14-dev podman crun uidmap catatonit docker.io rootlesskit runc containerd lxc systemd-container runsc containernetworking-plugins gcc-mingw-w64-x86-64 wine wine64
	ack acl ant aria2 attr autoconf automake bc bear bison black busybox-static bzip2 ccache chromium chrpath clang-tools cpio cron cscope dbus diffstat dnsutils
	dos2unix ed entr expect fakeroot fd-find file flex fp-compiler gawk gettext gfortran git-lfs gnat golang-go gradle graphviz groovy junit4
	inotify-tools libhamcrest-java libomp-dev llvm lz4 nano ncal uuid-runtime wdiff universal-ctags rake
	iputils-ping ksh less libtool libxml2-utils linux-perf lld lsof ltrace lua5.4 lzip m4 mariadb-client-core maven memcached mercurial
	mold moreutils mypy nasm nginx-light ocaml-nox openjdk-17-jdk-headless p7zip-full parallel patch perl php-cli pigz
	psmisc python3-aiohttp python3-flask python3-httpx python3-numpy python3-pip python3-pytest-xdist python3-requests python3-setuptools
	python3-websockets python3-wheel redis-server ripgrep rsync ruby rust-clippy rustc cargo rustfmt screen socat subversion
	spin sudo tcl time tree valgrind vim-tiny wget wget2 xmlstarlet xxd zsh fish zstd bubblewrap"

# bubblewrap: the reference of the latency figure.  passt, slirp4netns: the gate's peers, in the network lab.
# git, nodejs, npm: the work of the steady state.  Other sandboxes (firejail, crun, runc, podman, ...) take part if they are installed.
bench="$build bubblewrap passt slirp4netns python3 iproute2 openssl util-linux git nodejs npm"

# The compilers for aarch64 and riscv64: two of the machines.  e2fsprogs, kmod: their disks and modules.
# The emulator and the kernels themselves are fetched and not installed.
kernels="$build python3 gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
	e2fsprogs kmod xz-utils"

# debootstrap: new roots in which the test command runs.
matrix="$check debootstrap"

case "${1-}" in
build) wanted=$build ;;
clang) wanted=$clang ;;
arm64) wanted=$arm64 ;;
windows) wanted=$windows ;;
macos) wanted=$macos ;;
check) wanted=$check ;;
proof) wanted=$proof ;;
bench) wanted=$bench ;;
kernels) wanted=$kernels ;;
matrix) wanted=$matrix ;;
*)
	echo "usage: packages.sh build|clang|arm64|windows|macos|check|proof|bench|kernels|matrix" >&2
	exit 2
	;;
esac

missing=
for package in $wanted; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done

# A program that is there under another package's name does not need Debian's.
provided() {
	case "$1" in
	nodejs) command -v node ;;
	npm) command -v npm ;;
	*) false ;;
	esac >/dev/null 2>&1
}
needed=
for package in $missing; do
	provided "$package" || needed="$needed $package"
done
[ -n "$needed" ] || exit 0

echo "Corral needs these Debian packages and installs them now:$needed"
as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "Run this as root, or install them yourself: apt-get install$needed" >&2
		exit 1
	}
	as_root=sudo
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $needed >/dev/null
