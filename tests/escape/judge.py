# SPDX-License-Identifier: Apache-2.0
"""Judges one row: control outside, attempt inside, twin inside, verdict here.

CONTAINED   the control is found guilty by every verdict, the attempt by none
ESCAPED     a verdict, or an invariant of the host, finds the attempt guilty
OVERBLOCKED the twin failed inside, or the attempt never ran
UNPROVEN    the control is not found guilty: this host cannot show the attack
LIMIT       a row that says `limit`, at this level: every verdict finds the attempt guilty too
CLOSED      such a row whose attempt is innocent: it is no longer a limit
"""
import os
import re
import termios
import time

from scene import Scene, fingerprint, marked

CONTAINED, ESCAPED, OVERBLOCKED, UNPROVEN = "CONTAINED", "ESCAPED", "OVERBLOCKED", "UNPROVEN"
LIMIT, CLOSED = "LIMIT", "CLOSED"
GRACE = 1.0  # seconds in which what was killed outside could have disappeared
PATIENCE = 60.0  # the same on a machine that is loaded


class Verdict(Exception):
    """Ends the judging of a row with a result and its reason."""

    def __init__(self, result, reason):
        super().__init__(reason)
        self.result, self.reason = result, reason


class MountLeft(Verdict):
    """A mount that was not there before the row."""


def until(condition, seconds):
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def changes(before, after):
    names = sorted(key for key in before.keys() | after.keys()
                   if before.get(key) != after.get(key))
    return ", ".join(names[:3])


def judge_outside(scene, _call, _word):
    return changes(scene.before["O"], scene.print_of("O"))


def judge_home(scene, _call, _word):
    return changes(scene.before["H"], scene.print_of("H"))


def judge_same(scene, _call, word):
    path = scene.substitute(word)
    before = {key: value for key, value in scene.before["W"].items()
              if key == path or key.startswith(path + "/")}
    return changes(before, fingerprint(path))


def judge_absent(scene, _call, word):
    path = scene.substitute(word)
    return f"{path} exists" if os.path.lexists(path) else ""


def judge_token(scene, call, _word):
    return "the token was printed" if scene.token in call.output else ""


def moment(scene, seconds):
    """What has to show may show late; what must not is looked for once."""
    return PATIENCE if scene.must_show else seconds


def judge_victim(scene, _call, _word):
    until(lambda: scene.victim.poll() is not None, moment(scene, 0.1))
    return "the victim died" if scene.victim.poll() is not None else ""


def judge_listener(scene, _call, _word):
    until(lambda: scene.listeners.heard, moment(scene, 0.15))
    heard = scene.listeners.heard
    return f"a listener heard {heard[0]!r}" if heard else ""


def judge_page(scene, _call, _word):
    return "somebody signed in to the page" if scene.page.used() else ""


def judge_origin(scene, _call, word):
    """The marker tells this row's lines from those of its neighbours."""
    found = scene.suite.lab.heard(rf"^(?=.*{scene.marker}).*(?:{scene.substitute(word)})", seconds=moment(scene, 0.3))
    return f"an origin logged {found[:200]}" if found else ""


def judge_gone(scene, _call, _word):
    seconds = GRACE if scene.side == "control" else PATIENCE
    gone = until(lambda: not marked(scene.marker, scene.known), seconds)
    left = [] if gone else marked(scene.marker, scene.known)
    return f"{len(left)} processes remain" if left else ""


def judge_within(scene, call, _word):
    return f"no return in {scene.row['within']} s" if call.timed_out else ""


def judge_without(_scene, call, word):
    found = re.search(word, call.output, re.MULTILINE)
    return f"the output has {found.group(0)!r}" if found else ""


def judge_no_text(scene, call, word):
    return "the output names it" if scene.substitute(word) in call.output else ""


def judge_during(scene, _call, word):
    found = re.search(word, scene.during, re.MULTILINE)
    return f"the host saw {found.group(0)!r}" if found else ""


def judge_typed(scene, _call, _word):
    text = scene.tty_typed()
    return f"{text!r} was typed at the caller's terminal" if text else ""


def judge_modes(scene, _call, _word):
    changed = termios.tcgetattr(scene.tty[1]) != scene.tty_modes
    return "the caller's terminal modes changed" if changed else ""


def judge_shell(scene, _call, word):
    status, output = scene.host(word, as_root=os.geteuid() == 0)
    return f"{word!r} says {status}: {output.strip()[:100]}" if status else ""


def judge_answer(scene, call, word):
    """OUTSIDE -> INSIDE: which error a bad call gets, alternatives with |."""
    outside, inside = (part.strip().split("|") for part in word.split("->"))
    answers = re.findall(r"^result=(\S+)", call.output, re.MULTILINE)
    answer = answers[-1] if answers else "nothing"
    if scene.side == "control":
        return f"answers {answer}" if answer in outside else ""
    return "" if answer in inside else f"answers {answer}, not {'|'.join(inside)}"


JUDGES = {
    "outside": judge_outside,    # $O changed in any way
    "home": judge_home,          # $H changed in any way
    "same": judge_same,          # PATH in $W changed in any way
    "absent": judge_absent,      # PATH exists
    "token": judge_token,        # $T was printed
    "victim": judge_victim,      # the victim is dead
    "listener": judge_listener,  # a listener was told something
    "page": judge_page,          # the invitation to the page of `corral ui` was used
    "origin": judge_origin,      # the lab's internet logged a line with $M and REGEX
    "gone": judge_gone,          # a process outlives the call
    "within": judge_within,      # the call did not return in time
    "without": judge_without,    # REGEX is in the output
    "no-text": judge_no_text,    # TEXT is in the output
    "during": judge_during,      # REGEX is in the output of `during`
    "typed": judge_typed,        # somebody typed at the caller's terminal
    "modes": judge_modes,        # the caller's terminal changed
    "answer": judge_answer,      # OUTSIDE -> INSIDE
    "sh": judge_shell,           # a script on the host fails
}


def guilt(scene, call):
    """One reason, or the empty string, for every line of the verdict."""
    found = []
    for line in scene.row.lines("verdict"):
        name, _, word = line.partition(" ")
        found.append(JUDGES[name](scene, call, word.strip()))
    return found


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as source:
        return sorted(source)


def restrictions():
    """What a sandbox that restricts its caller would change in us."""
    wanted = ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "CapPrm", "SigIgn", "SigBlk")
    with open("/proc/self/status", encoding="utf-8") as source:
        return [line for line in source if line.startswith(wanted)]


def state():
    return {"mounts": mounts(), "restrictions": restrictions()}


def new_mounts(before):
    return [line for line in mounts() if line not in before["mounts"]]


def judge_leftovers(scene, before):
    """What no run may leave on the host, not even one that shows a limit."""
    remain = judge_gone(scene, None, "")
    if remain:
        raise Verdict(ESCAPED, remain)
    until(lambda: not new_mounts(before), PATIENCE)  # others' come and go
    new = new_mounts(before)
    if new:
        raise MountLeft(ESCAPED, f"a mount was left on the host: {new[0].strip()}")
    if restrictions() != before["restrictions"]:
        raise Verdict(ESCAPED, "the caller is restricted")


def judge_invariants(scene, before, names_allowed, places):
    """What must hold on the host after every other run, whatever the row is about."""
    judge_leftovers(scene, before)
    for name, judge in places.items():
        changed = judge(scene, None, "")
        if changed:
            raise Verdict(ESCAPED, f"{name} changed: {changed}")
    if names_allowed is not None:
        extra = names(scene) - names_allowed
        if extra:
            raise Verdict(ESCAPED, f"left in the workspace: {sorted(extra)[:3]}")


def names(scene):
    root = scene.vars["W"]
    return {os.path.relpath(os.path.join(folder, name), root) for folder, dirs, files in os.walk(root)
            for name in [".", *dirs, *files]}


def prepare(suite, row, caller, side):
    scene = Scene(suite, row, caller, side)
    if row["setup"]:
        status, output = scene.host(row["setup"], as_root=row["setup-as"] == "root")
        if status:
            scene.close()
            raise Verdict(UNPROVEN, f"setup: {output.strip()[:120]}")
    scene.remember()
    return scene


def run_control(suite, row, caller):
    """The attempt outside; returns the names that it leaves in the workspace."""
    scene = prepare(suite, row, caller, "control")
    try:
        # First, because a successful attempt may well take the ground from under it.
        if row["twin"]:
            twin = scene.call(row["twin"], inside=False, twin=True)
            if twin.status != 0:
                raise Verdict(UNPROVEN, f"the twin fails outside: {twin.output[-120:].strip()}")
        left = names(scene)
        text = row["control"] or row["attempt"]
        call = scene.call(text, inside=False, escalate=row.words("control-as") or None)
        reasons = guilt(scene, call)
        for line, reason in zip(row.lines("verdict"), reasons):
            if not reason:
                said = " ".join(call.output.split())[-100:]
                raise Verdict(UNPROVEN, f"control: not found guilty by '{line}': {said}")
        return left | names(scene) if not row["control"] else None
    finally:
        scene.close()


def run_inside(suite, row, caller, control_names):
    scene = prepare(suite, row, caller, "inside")
    allowed = None
    if control_names is not None:
        allowed = control_names | names(scene) | set(row.words("writes"))
    before = state()
    try:
        call = scene.call(row["attempt"], inside=True, args=row["args"])
        for line, reason in zip(row.lines("verdict"), guilt(scene, call)):
            if reason:
                raise Verdict(ESCAPED, f"{line.split()[0]}: {reason}")
        if row["may-refuse"] != "yes":
            demand_start(scene, call)
        if call.timed_out and not row["within"]:
            raise Verdict(OVERBLOCKED, "the attempt did not return")
        if row["check"] and judge_shell(scene, call, row["check"]):
            raise Verdict(ESCAPED, "check: " + judge_shell(scene, call, row["check"]))
        judge_invariants(scene, before, allowed, {"$O": judge_outside})
        run_twin(scene, row)
        # $H is large, and neither may change it: once for both.
        judge_invariants(scene, before, allowed, {"$O": judge_outside, "$H": judge_home})
    finally:
        scene.close()


# Below standard a run with a rule that the level cannot enforce does not start.
TOO_MUCH = re.compile(r"plan: [\w.]+ would be absent: ")


def demand_start(scene, call):
    if f"ran-{scene.marker}" in call.output:
        return
    if scene.suite.level in ("minimal", "none") and call.status == 125 and TOO_MUCH.search(call.output):
        raise Verdict(CONTAINED, "the run was refused: this level cannot enforce its rules")
    said = " ".join(call.output.split())[-160:]
    raise Verdict(OVERBLOCKED, f"never ran, status {call.status}: {said}")


def run_limit(suite, row, caller, must=True):
    """The attempt of a known limit, which must succeed for as long as it is one; whether it did."""
    scene = prepare(suite, row, caller, "inside")
    scene.must_show = must
    before = state()
    try:
        call = scene.call(row["attempt"], inside=True, args=row["args"])
        reasons = guilt(scene, call)
        if row["may-refuse"] != "yes":
            demand_start(scene, call)
        for line, reason in zip(row.lines("verdict"), reasons):
            if not reason and must:
                raise Verdict(CLOSED, f"no longer a limit by '{line}': move the row")
        judge_leftovers(scene, before)
        return any(reasons)
    finally:
        scene.close()


def run_twin(scene, row):
    if not (row["twin"] or row["twin-inside"]):
        return  # a limit of another level, which needs none there
    args = row["twin-args"] or row["args"]
    twin = scene.call(row["twin"] or row["twin-inside"], inside=True,
                      args="" if args == "-" else args, twin=True)
    if twin.status != 0:
        said = " ".join(twin.output.split())[-200:]
        raise Verdict(OVERBLOCKED, f"twin: status {twin.status}: {said}")


def judge_row(suite, row, caller):
    """(result, reason) of one row for one caller.  Others mount things too, but not in the same row twice."""
    for again in (True, False):
        try:
            return judge_once(suite, row, caller)
        except MountLeft as verdict:
            if not again:
                return verdict.result, verdict.reason


def judge_once(suite, row, caller):
    needs = row.words("need")
    wants_root = ("root" in needs or row["setup-as"] == "root" or row["mounts"] or
                  row["control-as"] == "root")
    try:
        if wants_root and os.geteuid() != 0:
            raise Verdict(UNPROVEN, "the harness must run as root for this row")
        if "lab" in needs and suite.lab is None:
            raise Verdict(UNPROVEN, f"no lab: {suite.no_lab}")
        if "page" in needs and suite.no_page:
            raise Verdict(UNPROVEN, f"no daemon: {suite.no_page}")
        if "account" in needs and not caller.switch:
            raise Verdict(UNPROVEN, "needs an account that nobody uses")
        if "processors" in needs and len(os.sched_getaffinity(0)) < 2:
            raise Verdict(UNPROVEN, "on one processor everything is pinned to it")
        control_names = run_control(suite, row, caller)
        limit = row.limit(suite.level, suite.shared)
        if limit:
            run_limit(suite, row, caller)
            return LIMIT, limit
        if row.unpromised(suite.level):
            succeeds = run_limit(suite, row, caller, must=False)
            return (LIMIT, row.unpromised(suite.level)) if succeeds else (CONTAINED, "")
        run_inside(suite, row, caller, control_names)
    except MountLeft:
        raise
    except Verdict as verdict:
        return verdict.result, verdict.reason
    return CONTAINED, ""
