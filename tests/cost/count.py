# SPDX-License-Identifier: Apache-2.0
"""Counts the system calls of one run from the log of strace -f.

Should:   count the calls of corral and of every process that it starts, until the command's own program is executed.
Must not: count what depends on the scheduler: calls that wait, and calls that found nothing to do (LEFT_OUT).
"""
import collections
import re
import statistics

from kinds import KINDS, LEFT_OUT, LEFT_OUT_MATCHING, LEFT_OUT_SPANS, TURNED_BACK

CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
UNFINISHED = "<unfinished ...>"
RESULT = re.compile(r"\) += (-?\d+|\?|0x[0-9a-f]+)(?: (E[A-Z0-9]+))?[^)]*(?:\)|>)?$")
FILTER = re.compile(r"SECCOMP_SET_MODE_FILTER,.*\{len=(\d+)")
SPAN = re.compile("|".join(LEFT_OUT_SPANS))
IRREGULAR = re.compile("|".join(LEFT_OUT_MATCHING))
LAST = 9  # after the last notification of a run comes the end of the run: it is left out
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


class Call:
    """One call, finished or not."""

    def __init__(self, pid, name, text):
        self.pid, self.name, self.text, self.error, self.done = pid, name, text.removesuffix(UNFINISHED), None, False
        if self.text == text:
            self.finish()

    def finish(self, rest=""):
        self.text += rest
        result = RESULT.search(self.text)
        self.done = result is not None and result[1] != "?" and not result[1].startswith("-")
        self.error = result[2] if result else None

    def is_counted(self):
        return (self.name not in LEFT_OUT and self.error not in TURNED_BACK
                and not IRREGULAR.search(self.text))


def calls_of(lines):
    """Every call of a log, in the order of their beginnings."""
    calls, open_calls = [], {}
    for line in lines:
        begun, resumed = CALL.match(line), RESUMED.match(line)
        if begun:
            call = Call(begun[1], begun[2], begun[3])
            calls.append(call)
            if line.endswith(UNFINISHED):
                open_calls[call.pid] = call
        elif resumed and resumed[1] in open_calls:
            open_calls.pop(resumed[1]).finish(resumed[3])
    return calls


def run_of(calls, program):
    """The calls of the last run of a program: its own and those of its descendants, up to the command."""
    executed = [n for n, call in enumerate(calls) if call.name == "execve" and call.done]
    start = [n for n in executed if calls[n].text.startswith(f'"{program}"')][-1]
    before = {call.pid for call in calls[:start]}
    main, commands = calls[start].pid, set()
    for call in calls[start:]:
        if call.pid != main and (call.pid in before or call.pid in commands):
            continue
        yield call
        if call.name == "execve" and call.done and call.pid != main:
            commands.add(call.pid)


def without_spans(calls):
    """The same calls without those of LEFT_OUT_SPANS."""
    inside = set()
    for call in calls:
        if SPAN.search(call.text):
            inside.add(call.pid)
        if call.pid not in inside:
            yield call
        elif call.name == "close":
            inside.remove(call.pid)


def served(calls):
    """The median of how many calls the broker makes for one notification, of the last ten."""
    groups, broker = [], None
    for call in calls:
        if "SECCOMP_IOCTL_NOTIF_RECV" in call.text and call.done:
            broker = call.pid
            groups.append(0)
        if call.pid == broker and call.is_counted():
            groups[-1] += 1
    return int(statistics.median(groups[-1 - LAST:-1])) if len(groups) > LAST else 0


def count(lines, program):
    """Counter of one run: calls by kind, and what else is read from their arguments."""
    found = collections.Counter()
    calls = list(without_spans(run_of(calls_of(lines), program)))
    found["served"] = served(calls)
    for call in calls:
        if not call.is_counted():
            continue
        found["calls"] += 1
        found[KIND_OF.get(call.name, "other")] += 1
        found["mounts"] += call.name in ("move_mount", "mount") and call.done
        found["processes"] += call.name in ("fork", "vfork", "clone", "clone3") and call.done
        found["notifications"] += "SECCOMP_IOCTL_NOTIF_RECV" in call.text and call.done
        loaded = FILTER.search(call.text) if call.name == "seccomp" else None
        if loaded:
            found["filter"] = max(found["filter"], int(loaded[1]))
    return found
