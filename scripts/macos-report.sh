#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For a person with a Mac: builds corral, tries the rows below and prints a report to send.  It needs Apple's command
# line tools (xcode-select --install), no other package and no rights beyond yours.
#
#   scripts/macos-report.sh > report.txt
#
# A row is a control that succeeds outside, the same attack inside that has to fail, and a similar action inside that has
# to succeed; the verdict is the state of files afterwards.  Everything is in one new directory, which it removes.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ "$(uname)" != Darwin ]; then
	echo "this script is for macOS; on other systems: corral explain --seatbelt" >&2
	exit 2
fi
lab=$(cd "$(mktemp -d)" && pwd -P)
corral="$lab/corral"
ws="$lab/ws"
outside="$lab/outside"
failed=0
rows=0
listener=
finish() {
	[ -z "$listener" ] || kill "$listener" 2>/dev/null
	rm -rf "$lab"
}
trap finish EXIT

echo "# corral on macOS"
sw_vers
uname -m
cc --version | head -1
git log -1 --format='commit %H' 2>/dev/null
if ! scripts/macos-build.sh "$corral" >"$lab/build.log" 2>&1; then
	echo "not ok - build"
	cat "$lab/build.log"
	exit 1
fi
echo "ok - build"

fresh() {
	rm -rf "$ws" "$outside"
	mkdir -p "$ws/.git/hooks" "$ws/sub" "$outside"
	echo secret-outside >"$outside/secret"
	echo secret-env >"$ws/.env"
	echo secret-env >"$ws/sub/.env"
	echo plain >"$ws/a.txt"
}

# inside OPTIONS -- COMMAND: its output and errors are in $lab/out
inside() {
	(cd "$ws" && "$corral" run --timeout 20s "$@") >"$lab/out" 2>&1
}

verdict() { # name, 0 or another status, more text
	rows=$((rows + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $rows - $1"
	else
		failed=$((failed + 1))
		echo "not ok $rows - $1"
		sed 's/^/#   /' "$lab/out" | head -20
	fi
}

# closed NAME COMMAND TWIN OPTIONS: the command writes "done" to $PROOF outside and must not inside; the twin must.
closed() {
	name=$1 attack=$2 twin=$3
	shift 3
	fresh
	(cd "$ws" && sh -c "$attack") >"$lab/out" 2>&1
	if ! grep -q . "$lab/out" && ! [ -e "$outside/made" ]; then
		verdict "$name: the control outside succeeds" 1
		return
	fi
	fresh
	inside "$@" -- sh -c "$attack"
	grep -q secret- "$lab/out" || [ -e "$outside/made" ]
	verdict "$name: closed inside" $((1 - $?))
	fresh
	inside "$@" -- sh -c "$twin"
	verdict "$name: its twin works" $?
}

fresh
inside -- true
verdict "the profile is accepted" $?
inside -- sh -c 'exit 7'
[ $? -eq 7 ]
verdict "the exit status is the command's" $?
/usr/bin/sandbox-exec -p "$(cat tests/seatbelt/document.sb)" -DWORKSPACE="$ws" -- /usr/bin/touch "$ws/document" >"$lab/out" 2>&1
[ -e "$ws/document" ]
verdict "the document's own profile is accepted" $?

closed "write outside" "touch $outside/made" "touch made && test -e made"
closed "read outside" "cat $outside/secret" "cat a.txt"
closed "the data volume's second name" "cat /System/Volumes/Data$outside/secret" "cat a.txt"
closed "denied pattern" "cat .env sub/.env" "cat a.txt" --deny '**/.env'
# shellcheck disable=SC2016  # the shell inside expands it
closed "denied name after a rename" 'mv sub "${TMPDIR:-/tmp}/moved" && cat "${TMPDIR:-/tmp}/moved/.env"; rm -rf "${TMPDIR:-/tmp}/moved"' \
	'mv a.txt b.txt && cat b.txt' --deny '**/.env'
closed "denied file by a hard link" "ln .env link && cat link" "cat a.txt" --deny '**/.env'
closed "pattern with one character" 'echo secret-x > é.key; cat é.key' "cat a.txt" --deny '?.key'
closed "pattern with a class" 'echo secret-x > b.key; cat b.key' "cat a.txt" --deny '[!a].key'
closed "another case of a denied name" "cat .ENV" "cat a.txt" --deny '**/.env'
closed "protected hook" "echo x > .git/hooks/pre-commit && cp .git/hooks/pre-commit $outside/made" "echo x > new"
closed "protected directory renamed" "mv .git g && touch g/hooks/x $outside/made" "mv sub other"
closed "filled directory put in place" "mkdir -p x/hooks && touch x/hooks/y && mv .git old && mv x .git && touch $outside/made" \
	"mkdir new && mv new newer"
closed "the environment of another process" "sh -c 'S=secret-env sleep 20 & ps -E -p \$! -o command='" "echo x"
closed "launchd starts a program" "launchctl submit -l corral.report -- /usr/bin/touch $outside/made; sleep 2; launchctl remove corral.report; cat $outside/secret" \
	"echo x"
launchctl remove corral.report 2>/dev/null
closed "AppleScript runs a command" "osascript -e 'do shell script \"touch $outside/made\"'" "echo x"
closed "only listed programs" "/usr/bin/tail $outside/secret a.txt | cat; cat a.txt $outside/secret" "cat a.txt" --set commands.default=deny \
	--set commands.allow=sh --set commands.allow=cat

fresh
port=$((20000 + $$ % 20000))
(while :; do echo secret-net | nc -l 127.0.0.1 "$port"; done) >/dev/null 2>&1 &
listener=$!
sleep 1
closed "the host's loopback" "nc -w 2 127.0.0.1 $port </dev/null" "echo x"
inside --host-port "$port" -- sh -c "nc -w 2 127.0.0.1 $port </dev/null"
grep -q secret-net "$lab/out"
verdict "a port of --host-port is reached" $?
kill "$listener" 2>/dev/null
listener=

fresh
sleep 321.5 &
victim=$!
inside -- kill "$victim"
kill -0 "$victim" 2>/dev/null
verdict "a process outside cannot be signalled" $?
kill "$victim" 2>/dev/null

(cd "$ws" && "$corral" run --timeout 1s -- sh -c 'sleep 322.5 & (sleep 322.5 &) ; sleep 322.5') >"$lab/out" 2>&1
[ $? -eq 124 ]
verdict "a time-out ends the command" $?
! pgrep -f 'sleep 322.5' >"$lab/out"
verdict "and every process that it started" $?
# shellcheck disable=SC2016  # perl's variable
(cd "$ws" && "$corral" run --json --memory 200M --timeout 30s -- perl -e '$x = "x" x 800_000_000; sleep 20') >"$lab/out" 2>&1
grep -q '"reason":"memory"' "$lab/out"
verdict "a limit of memory ends the command" $?
SECRET=secret-env "$corral" run --workspace "$ws" -- env >"$lab/out" 2>&1
! grep -q secret- "$lab/out"
verdict "the caller's environment does not reach the command" $?
inside --require fs.write -- true
[ $? -eq 125 ]
verdict "--require is refused, because enforcement has not been run" $?
for tool in git clang python3 perl ruby swift; do
	command -v "$tool" >/dev/null || continue
	inside -- "$tool" --version
	verdict "$tool --version works inside" $?
done
echo "1..$rows"
echo "# $failed of $rows failed; please send this whole text, also if all passed"
[ "$failed" -eq 0 ]
