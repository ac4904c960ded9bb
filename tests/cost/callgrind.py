# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions and allocations of a plan from the profile that valgrind's callgrind writes.

Should:   count exactly: the plan of a recorded host reads no file of this one, so each run executes the same instructions.
Must not: count what surrounds the plan as its instructions: reading the snapshot depends on a random hash seed.
"""
import collections
import re

PLAN = "plan_build"
ALLOCATIONS = ("malloc", "calloc", "realloc")
NAME = re.compile(r"c?fn=\((\d+)\)(?: (.*))?$")  # a name stands with its number once, then the number alone
CALLS = re.compile(r"calls=(\d+) ")


def command(profile):
    """The words before the program."""
    return ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={profile}"]


def read_profile(lines):
    """(calls, instructions with those of the callees) of each function that is called."""
    names, calls, cost, callee, called = {}, collections.Counter(), collections.Counter(), None, False
    for line in lines:
        name, times = NAME.match(line), CALLS.match(line)
        if name:
            names.setdefault(name[1], name[2])
            callee = names[name[1]] if line.startswith("c") else callee
        elif times:
            calls[callee] += int(times[1])
        elif called:
            cost[callee] += int(line.split()[1])  # the line after calls=: position and cost
        called = times is not None
    return calls, cost


def count(lines):
    calls, cost = read_profile(lines)
    if calls[PLAN] == 0:
        raise AssertionError(f"the profile has no call of {PLAN}(): the binary has no symbols, or it has another name")
    return {"instructions": cost[PLAN], "allocations": sum(calls[name] for name in ALLOCATIONS)}
