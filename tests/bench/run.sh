#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make bench`: what a sandbox adds to a bare spawn, against bubblewrap, in one
# interleaved run as an unprivileged user.  Absolute times depend on the machine;
# the last column is the one to look at.  Then what rules about files cost, files.py, and
# what the network's gate costs, net.py, records of denials, denials.py, and the readers of a large audit log, audit.py.  At the end the
# throughput of the leak scanner, leak.c.
#
#     run.sh BUILD [ROUNDS]
#
# BENCH_TREE names a directory for the tree of 300,000 files, which then stays; else
# it is made in BENCH_PLACE (/var/tmp) and removed at the end.  BENCH_BASE names a corral
# from before there were rules, to compare with.  BENCH_ONLY=leak runs the leak scanner alone.
set -eu

build=$(readlink -f "$1")
rounds=${2:-300}
scratch=$(mktemp -d)
place=$(mktemp -d -p "${BENCH_PLACE:-/var/tmp}")
trap 'rm -rf "$scratch" "$place"' EXIT
cp "$build/corral" "$scratch/"
${CC:-gcc} -O2 -std=gnu17 -D_GNU_SOURCE -o "$scratch/latency" "$(dirname "$0")/latency.c"
${CC:-gcc} -O2 -std=gnu17 -D_GNU_SOURCE -o "$scratch/tree" "$(dirname "$0")/tree.c"
files=$(readlink -f "$(dirname "$0")/files.py")
net=$(readlink -f "$(dirname "$0")/net.py")
denials=$(readlink -f "$(dirname "$0")/denials.py")
audit=$(readlink -f "$(dirname "$0")/audit.py")
leak=$(readlink -f "$(dirname "$0")/leak.c")
# The leak scanner against PCRE2-JIT with the same patterns (libpcre2-dev), on Corral's own sources.
bench_leak() {
	root=$(dirname "$(dirname "$(dirname "$leak")")")
	pcre2=$(pkg-config --libs libpcre2-8 2>/dev/null || true)
	# shellcheck disable=SC2086  # the libraries are words
	${CC:-gcc} -O2 -std=gnu17 -D_GNU_SOURCE ${pcre2:+-DHAVE_PCRE2} -I"$root/include" -I"$root/src" -o "$scratch/leak" \
		"$leak" "$build/src/libcorral.a" -lsodium $pcre2
	find "$root/src" "$root/tests" "$root/docs" -name '*.[ch]' -o -name '*.py' -o -name '*.md' | sort | xargs cat >"$scratch/text"
	"$scratch/leak" "$scratch/text"
}
if [ "${BENCH_ONLY-}" = leak ]; then
	bench_leak
	exit
fi
mkdir "$scratch/ws" "$scratch/home"

as_user=
if [ "$(id -u)" -eq 0 ]; then
	user=${BENCH_USER:-games}
	chown -R "$user" "$scratch"
	chmod 755 "$scratch"
	as_user="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups --"
fi
cd "$scratch/ws"

# A peer without namespaces, where somebody has built it: LANDRUN=/path/to/landrun make bench
landrun=
if [ -n "${LANDRUN-}" ]; then
	cp "$LANDRUN" "$scratch/landrun"
	landrun=$scratch/landrun
fi

echo "added latency of /bin/true over a bare spawn, $rounds rounds, $(nproc) processors, Linux $(uname -r)"
# shellcheck disable=SC2086 # a wrapper may be several words, or none
HOME=$scratch/home $as_user ${BENCH_WRAP-} "$scratch/latency" "$rounds" \
	"bare spawn" /bin/true -- \
	"corral run" "$scratch/corral" run /bin/true -- \
	"corral run, ephemeral home" "$scratch/corral" run --home ephemeral /bin/true -- \
	"corral run --cow" "$scratch/corral" run --cow /bin/true -- \
	"corral run --level standard" "$scratch/corral" run --level standard /bin/true -- \
	${landrun:+"landrun"} ${landrun:+"$landrun"} ${landrun:+--rox} ${landrun:+/usr} ${landrun:+--ro} ${landrun:+/etc} \
	${landrun:+--rw} ${landrun:+"$scratch/ws"} ${landrun:+/bin/true} ${landrun:+--} \
	"bwrap --unshare-all" bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \
	--bind "$scratch/ws" "$scratch/ws" --new-session --die-with-parent /bin/true

chmod 755 "$place"
/usr/bin/python3 "$files" --corral "$scratch/corral" --latency "$scratch/latency" --tree "$scratch/tree" \
	--place "$place" --user "${user:-games}" ${BENCH_TREE:+--big "$BENCH_TREE"} ${BENCH_BASE:+--base "$BENCH_BASE"}
/usr/bin/python3 "$net" --corral "$scratch/corral" --user "${user:-games}"
for level in full standard; do
	/usr/bin/python3 "$denials" --corral "$scratch/corral" --user "${user:-games}" --level "$level"
done
/usr/bin/python3 "$audit" --corral "$scratch/corral" --place "$place"
bench_leak
