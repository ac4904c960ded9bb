#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boots Debian's kernels in emulated machines and runs corral's tests in each.  `make kernels`.

A machine is bounded: memory, processors and time.  Its console is kept in the
build directory.  A kernel that cannot be fetched is shown as not run, with the
reason.  Exit status: 1 when a row escaped or was overblocked, when a quota did
not hold, when corral's own test failed or its report disagreed with its plan,
when a machine ended without its report, or when none was run.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import bytecode  # noqa: E402  the path has to be set first
import calls  # noqa: E402
import debian  # noqa: E402
import emulator  # noqa: E402
import guest  # noqa: E402
import image  # noqa: E402
import programs  # noqa: E402
import slices  # noqa: E402
import table  # noqa: E402

# name, architecture, the suites in which it may be, and how its version begins.
KERNELS = (
    ("6.1", "amd64", ("bookworm",), "6.1."),
    ("6.12", "amd64", ("bookworm-backports", "trixie"), "6.12."),
    ("7", "amd64", ("trixie-backports", "forky", "sid"), "7."),
    ("6.1-arm64", "arm64", ("bookworm",), "6.1."),
    ("6.12-riscv64", "riscv64", ("trixie",), "6.12."),
)
# mitigations=off: page table isolation empties the emulator's translations at every system call.
COMMAND_LINE = "quiet panic=-1 mitigations=off"
MACHINES = {
    "amd64": (["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"], "ttyS0"),
    "arm64": (["qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72"], "ttyAMA0"),
    "riscv64": (["qemu-system-riscv64", "-machine", "virt", "-cpu", "rv64,sv48=off,sv57=off"], "ttyS0"),  # page tables as of boards
}
# Architectures without a kernel for clouds, which has fewer modules.
META = {"riscv64": "linux-image-riscv64"}
MEMORY = "1G"
# The machine's time goes by instructions, 2 ns each, and not by the load of this one, and no time passes while it waits:
# a row takes as long as on a processor of its own.  That needs one processor; a second one would cost more than it does.
CLOCK = ("-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=1,sleep=off")
CALLS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src", "data", "syscalls.inc")


class Workshop:
    """What the machines share: the packages, the root tree, the programs."""

    def __init__(self, place, build):
        self.place, self.build = os.path.abspath(place), os.path.abspath(build)
        self.ready, self.emulator = {}, None
        os.makedirs(place, exist_ok=True)

    def base(self, architecture):
        """(root tree, corral, probe, init) of an architecture."""
        if architecture not in self.ready:
            apt = debian.Apt(f"{self.place}/apt", [programs.release(architecture)], architecture)
            apt.update()
            made = programs.make(architecture, self.place, self.build, apt)
            root = f"{self.place}/root-{architecture}"
            self.make_root(root, apt.with_dependencies(image.ROOT), architecture, made)
            self.ready[architecture] = (root, *made)
        return self.ready[architecture]

    def make_root(self, root, packages, architecture, made):
        """A root tree with our programs and tests, and all of Python compiled."""
        python = bytecode.interpreter(self.place, programs.release(architecture), programs.own_architecture())
        if image.make_root(packages, root):
            bytecode.compile_below(python, root, f"usr/lib/{image.python_of(root)}")
            image.stamp(root, packages)
        image.add_ours(root, (*made[:2], f"{os.path.dirname(made[0])}/corrald"), os.path.dirname(HERE))
        bytecode.compile_below(python, root, "corral/tests")

    def packages(self, architecture, suites, version):
        """The files of the first suite that has a kernel of this version."""
        reasons = []
        for suite in suites:
            apt = debian.Apt(f"{self.place}/apt", [suite], architecture)
            try:
                apt.update()
                name = self.newest(apt, META.get(architecture, f"linux-image-cloud-{architecture}"), version)
                # One package up to 6.12; three parts of it since.
                more = [other for other in apt.depends(name) if other.startswith(("linux-binary-", "linux-modules-"))]
                return [apt.alone(package) for package in [name] + more]
            except debian.Missing as problem:
                reasons.append(f"{suite}: {problem}")
        raise debian.Missing("; ".join(reasons))

    @staticmethod
    def newest(apt, meta, version):
        names = apt.depends(meta)
        for name in names:
            if name.startswith(f"linux-image-{version}"):
                return name
        raise debian.Missing(f"{meta} is {' '.join(names)}, not {version}x")

    def machine(self, name, architecture, suites, version):
        """The command that boots this kernel."""
        root, _corral, _probe, init = self.base(architecture)
        place = f"{self.place}/{name}"
        release, kernel, tree = image.take_kernel(self.packages(architecture, suites, version), place)
        image.make_initramfs(init, tree, f"{place}/initramfs")
        image.make_disk(root, release, tree, f"{place}/disk")
        (program, *machine), console = MACHINES[architecture]
        if not self.emulator:
            self.emulator = emulator.unpack(self.place, programs.own_architecture())
        return emulator.command(self.emulator, program) + machine + [
            *CLOCK, "-m", MEMORY, "-nographic", "-no-reboot", "-nic", "none",
            "-kernel", kernel, "-initrd", f"{place}/initramfs",
            "-drive", f"file={place}/disk,if=virtio,format=raw,snapshot=on"], console


def boot(argv, log, seconds):
    """Runs one machine to its end; its report, or None."""
    modules = os.environ | {"QEMU_MODULE_DIR": emulator.modules(argv)}  # those of an installed emulator do not fit
    with open(log, "wb") as out, \
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=modules) as machine:
        try:
            machine.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            machine.kill()
    with open(log, encoding="utf-8", errors="replace") as source:
        for line in source:
            if line.startswith(guest.REPORT):
                return json.loads(line[len(guest.REPORT):])
    return None


def last_words(log):
    """The end of a console that holds no report."""
    with open(log, encoding="utf-8", errors="replace") as source:
        said = [line.strip() for line in source if line.strip()]
    return f"the console ends with: {said[-1][:200]}" if said else "the console is empty"


def unknown_calls(report):
    """Of the system calls that a machine has, or had when it was judged, those that the filter's table lacks."""
    return dict(zip(("numbers", "names"), calls.new(calls.known(CALLS), report["calls"])))


def one_slice(name, argv, words, options, piece):
    """The report of the machine that judges one slice of the rows; {"failed"} without one."""
    start = time.monotonic()
    mode, number = piece
    log = f"{options.place}/{name}-{mode}-{number}.log"
    step = options.sample * options.slices
    words = words + [f"corral.mode={mode}", f"corral.sample={step}", f"corral.begin={number * options.sample}"]
    print(f"{name}: booting; {guest.MODES[mode][0]}, slice {number + 1} of {options.slices}, console in {log}", flush=True)
    found = boot(argv + ["-append", " ".join(words)], log, options.time)
    if found is None or "broken" in found:
        took = f"after {round(time.monotonic() - start)} s; {last_words(log)}"
        return {"failed": found["broken"] if found else took}
    return found | {"calls": unknown_calls(found)}


class Ended(Exception):
    """A machine that ended without its report."""


def judge_slices(store, options, take):
    """Boots for the slices that were never judged, then for those of other binaries, as far as time allows."""
    for is_wanted in (store.is_missing, store.is_stale):
        for mode in options.modes:
            judge_mode([(mode, number) for number in range(options.slices)], is_wanted, store, options, take)


def judge_mode(pieces, is_wanted, store, options, take):
    """The wanted slices of one configuration; take() boots for one."""
    def judge_piece(piece):
        late = options.minutes is not None and time.monotonic() - options.begun > options.minutes * 60
        if is_wanted(piece) and not late:
            found = take(piece)
            if "failed" in found:
                raise Ended(found["failed"])
            store.keep(piece, found)

    judge_piece(pieces[0])
    if not store.is_missing(pieces[0]) and slices.unlike(store.report(pieces[0])):
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            list(pool.map(judge_piece, pieces[1:]))


def share_of(options):
    return [options.only or options.rows, options.sample, options.slices]


def judge(kernel, workshop, options):
    """Boots the machines of one kernel; {"failed"} or {"not run"} with the reason, or an empty dict."""
    name, architecture, suites, version = kernel
    try:
        argv, console = workshop.machine(name, architecture, suites, version)
    except debian.Missing as problem:
        return {"not run": " ".join(str(problem).split())}
    words = [COMMAND_LINE, f"console={console}"]
    words += [f"corral.{key}={getattr(options, key)}" for key in ("rows", "only") if getattr(options, key)]
    words.append(f"corral.holes={calls.holes(calls.known(CALLS), architecture)}")
    store = slices.Store(options.kept, name, share_of(options), workshop.base(architecture)[1:3], words)
    try:
        judge_slices(store, options, lambda piece: one_slice(name, argv, words, options, piece))
    except Ended as problem:
        return {"failed": str(problem)}
    return {} if store.lines else {"not run": "no time was left"}


def kept_answer(name, path):
    """What the machines of one kernel found until now; "not run" without a line in the file."""
    share = slices.fullest(path, name)
    if share is None:
        return {"name": name, "not run": "it was not asked for"}
    store = slices.Store(path, name, share)
    lines, judged = store.in_order(), store.judged()
    rows, sample, number = share
    done = {mode[0]: judged[at] if at not in judged or slices.unlike(store.report((at, 0))) else number
            for at, mode in enumerate(guest.MODES)}
    found = slices.joined(lines)
    found["calls"] = unknown_calls(found)
    return {"name": name, "runs": sorted({line["run"] for line in lines}, key=lambda run: run.split(", ")[1]), "report": found,
            "rows": rows, "sample": sample, "slices": number, "done": done}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="the build whose corral and probe are tested")
    parser.add_argument("--place", required=True, help="where everything is kept; made when it is not there")
    parser.add_argument("--time", type=int, default=5400, help="seconds that one machine may take")
    parser.add_argument("--rows", choices=("families", "quick"), default="families",
                        help="the first quick row of every section, or all quick rows")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth of them")
    parser.add_argument("--slices", type=int, default=1, metavar="N",
                        help="N machines share the rows; a slice that was judged is not judged again")
    parser.add_argument("--minutes", type=float, help="begin no other slice after this time; a later call continues")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="N machines at a time, each for one processor")
    parser.add_argument("--only", help="rows, as tests/escape/run.py has it")
    parser.add_argument("--modes", help="numbers of the configurations of guest.py, in the order of the run: 0,2")
    parser.add_argument("--kept", metavar="FILE", help="a line for each slice that was judged, also on other machines; PLACE/slices.jsonl")
    parser.add_argument("--document", help="a file for the table of all kernels, from those lines")
    parser.add_argument("kernel", nargs="*", help="of: " + " ".join(kernel[0] for kernel in KERNELS))
    options = parser.parse_args()
    options.place, options.begun = os.path.abspath(options.place), time.monotonic()
    unknown = set(options.kernel) - {kernel[0] for kernel in KERNELS}
    if unknown:
        parser.error(f"no such kernel: {' '.join(sorted(unknown))}")
    # What was run in part is kept apart, so that no table is made of it.
    part = options.only or options.modes
    options.kept = f"{options.place}/part.jsonl" if part else options.kept or f"{options.place}/slices.jsonl"
    workshop = Workshop(options.place, options.build)
    options.modes = list(map(int, options.modes.split(","))) if options.modes else range(len(guest.MODES))
    ran, answers = [], []
    for kernel in KERNELS:
        asked = not options.kernel or kernel[0] in options.kernel
        now = judge(kernel, workshop, options) if asked else {}
        kept = kept_answer(kernel[0], options.kept)
        answers.append((kept if "runs" in kept or not now else {"name": kernel[0]}) | now)
        if asked:
            print("\n".join(table.lines(answers[-1])), flush=True)
            ran += [] if "not run" in now else [answers[-1]]
    if options.document and not part:
        with open(options.document, "w", encoding="utf-8") as out:
            out.write("\n".join(table.document(answers)).rstrip("\n") + "\n")
    return 1 if not ran or any(table.bad(answer) for answer in ran) else 0


if __name__ == "__main__":
    sys.exit(main())
