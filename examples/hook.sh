#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A hook that an agent calls before its shell tool runs a command.
#
# stdin:  one JSON object whose tool_input.command is the command.
# stdout: the same object, with the command wrapped in `corral run`.
#
# Should:   leave every other field of the object as it is.
# Must not: run the command itself.
# Fails:    closed: without corral or jq, or without a command, it exits with status 2, which
#           agents take for "do not run this".
#
# CORRAL is the program (default: corral), CORRAL_OPTIONS the options of `corral run`.
set -eu

refuse() {
	echo "hook: $1; the command is not run" >&2
	exit 2
}

corral=${CORRAL:-corral}
command -v "$corral" >/dev/null || refuse "$corral is not installed"
command -v jq >/dev/null || refuse "jq is not installed"

# @sh quotes for a shell, so that the command stays one word, whatever it holds.
jq -cn --arg corral "$corral" --arg options "${CORRAL_OPTIONS-}" '
	input
	| if (.tool_input.command | type) != "string" then error("no command") else . end
	| .tool_input.command = ([$corral | @sh] + ["run", $options | select(. != "")] + ["-c", (.tool_input.command | @sh)]
		| join(" "))' || refuse "stdin is not an object with tool_input.command"
