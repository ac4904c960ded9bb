#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make run`: Corral at work, in a workspace that is thrown away.
#
#     demo.sh CORRAL [COMMAND-STRING]
set -eu

corral=$(readlink -f "$1")
if [ $# -gt 1 ]; then
	exec "$corral" run -c "$2"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
workspace=$scratch/workspace
mkdir "$workspace"
export XDG_STATE_HOME="$scratch/state" # the private home of a demonstration need not last
cd "$workspace"

show() {
	printf '\n\033[1m$ corral run -c %s\033[0m\n' "'$1'"
	"$corral" run -c "$1" || printf '(exit status %d)\n' $?
}

printf 'Corral runs a command inside a boundary that the kernel enforces.\n'
printf 'The workspace is %s.\n' "$workspace"

printf '\nA command that stays inside just works:'
# shellcheck disable=SC2016 # it is the shell inside that says who it is
show 'echo "hello from $(id -un)" > note && cat note'

printf '\nA write outside the workspace is refused:'
show 'echo owned > /etc/corral-was-here'

printf '\nThere is no network, but a loopback of its own:'
show 'cat /proc/net/dev; echo "routes:"; tail -n +2 /proc/net/route; getent hosts example.com || echo "no name resolves"'

printf '\nAnd it says what it enforces:\n\n'
"$corral" explain | sed -n '1,/^$/p;/[Gg]uarantee/,/^$/p'
