# SPDX-License-Identifier: Apache-2.0
"""What a row comes to: run outside, run inside, compared."""
import difflib
import os
import re
import shutil
import tempfile

from side import PATH, PATIENCE, Side

PASSED, FAILED, UNPROVEN = "PASSED", "FAILED", "UNPROVEN"
KNOWN = "KNOWN"  # fails as the row says that it must at this level
OUTSIDE = "the control:"
STRICT = ("auto", "full")  # levels at which a row that says `why` must differ
MOST_LINES = 24  # of a difference that is shown


class Verdict(Exception):
    """Ends the judging of a row."""

    def __init__(self, result, reason):
        super().__init__(reason)
        self.result, self.reason = result, reason


def require(condition, reason):
    if not condition:
        raise Verdict(FAILED, reason)


def missing(row):
    for name in row.words("needs"):
        found = os.path.exists(name) if name.startswith("/") else shutil.which(name, path=PATH)
        if not found:
            return name
    return None


def prepare(suite, row, side):
    for name in row.words("fixture"):
        suite.fixtures.copy(name, side.workspace)
    side.own()
    if row["setup"]:
        done = side.call(["/bin/sh", "-c", row["setup"]], row.seconds())
        require(done.status == 0 and not done.problem(),
                f"setup: {done.problem() or done.status}: {tail(side, done)}")


def tail(side, outcome):
    return side.plain((outcome.out + outcome.err)[-1500:])


def readable(row, side, data):
    """Output as it is compared."""
    text = side.plain(data)
    for pattern in row.lines("blur"):
        text = re.sub(pattern, "~", text, flags=re.MULTILINE)
    return "\n".join(sorted(text.split("\n"))) if row["sort"] else text


def difference(name, outside, inside):
    lines = difflib.unified_diff(outside.split("\n"), inside.split("\n"), f"{name} outside", f"{name} inside",
                                 lineterm="", n=1)
    return "\n".join(list(lines)[:MOST_LINES])


def compare(row, outside, control, inside, attempt):
    """The rule for ordinary rows: everything that can be seen is the same."""
    require(attempt.status == control.status,
            f"status {attempt.status} inside, {control.status} outside: {tail(inside, attempt)}")
    for name in ("out", "err"):
        wanted = readable(row, outside, getattr(control, name))
        got = readable(row, inside, getattr(attempt, name))
        require(got == wanted, difference(f"std{name}", wanted, got))


def compare_trees(outside, inside):
    wanted, got = outside.tree(), inside.tree()
    odd = [f"{name}: {got.get(name)} inside, {wanted.get(name)} outside"
           for name in sorted(wanted.keys() | got.keys()) if wanted.get(name) != got.get(name)]
    require(not odd, "workspace: " + "; ".join(odd[:5]))


def expect(row, control, inside, attempt, timed):
    """The rule for rows that are meant to differ: as they say, and no other way."""
    wanted = row["inside-status"] or str(control.status)
    as_wanted = attempt.status != 0 if wanted == "fail" else str(attempt.status) == wanted
    require(as_wanted, f"status {attempt.status} inside instead of {wanted}: {tail(inside, attempt)}")
    said = inside.plain(attempt.out + attempt.err)
    require(re.search(row["says"], said, re.MULTILINE), f"/{row['says']}/ is not in: {said[-1500:]}")
    within = float(row["within"] or row.seconds()) if timed else row.seconds()
    require(attempt.seconds <= within, f"took {attempt.seconds:.1f} s")


def same(row, outside, control, inside, attempt):
    """Whether nothing differs: below full, what a row says must differ need not."""
    try:
        compare(row, outside, control, inside, attempt)
    except Verdict:
        return False
    return True


def judge_in(suite, row, caller, top):
    outside, inside = (Side(top, name, caller) for name in ("out", "box"))
    prepare(suite, row, outside)
    prepare(suite, row, inside)
    words = ["sh", "-c", row["command"]]
    control = outside.call(words, row.seconds(), row["tty"])
    require(not control.problem() and control.status == row.status(),
            f"{OUTSIDE} {control.problem() or control.status}: {tail(outside, control)}")
    seconds = min(row.seconds(), suite.patience)
    attempt = inside.call([suite.corral, "run", *suite.ask, "--", *words], seconds, row["tty"], PATIENCE)
    require(not attempt.problem(), f"inside: {attempt.problem()}: {tail(inside, attempt)}")
    require(not attempt.left, "processes are left behind")
    if row["why"] and (suite.level in STRICT or not same(row, outside, control, inside, attempt)):
        expect(row, control, inside, attempt, suite.timed)
    elif not row["why"]:
        compare(row, outside, control, inside, attempt)
    if row["tree"]:
        compare_trees(outside, inside)


def judge(suite, row, caller):
    """(result, reason) of one row for one caller."""
    lacking = missing(row)
    if lacking:
        return UNPROVEN, f"{lacking} is not installed"
    top = tempfile.mkdtemp(prefix=f"{row.ident}-", dir=suite.top)
    os.chmod(top, 0o755)
    try:
        judge_in(suite, row, caller, top)
    except Verdict as verdict:
        why = row.known(suite.level)
        known = why and verdict.result == FAILED and not verdict.reason.startswith(OUTSIDE)
        return (KNOWN, why) if known else (verdict.result, verdict.reason)
    finally:
        suite.remove(top)
    if row.known(suite.level):
        return FAILED, f"works at level {suite.level}, and the row says that it cannot"
    return PASSED, ""
