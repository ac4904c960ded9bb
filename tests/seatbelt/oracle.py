#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profile for macOS against the plan that it was made from, over random policies and paths.  Speaks TAP.

    tests/seatbelt/oracle.py --build build [--policies N] [--patterns N] [--seed N]

`seatbelt_dump` prints the profile and the plan's own answers; sbpl.py evaluates the profile.  A failure names its seed:
`--seed N --policies 1` repeats it.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sbpl  # noqa: E402  the path has to be set first

RUN_DIR = b"/private/tmp/corral-run"
NODES = (b"l /tmp private/tmp", b"l /var private/var", b"l /etc private/etc", b"d /private/tmp", b"d /private/var/folders/zz",
         b"f /private/etc/passwd", b"f /private/etc/sudoers", b"f /bin/sh", b"f /usr/bin/git", b"f /usr/bin/cc",
         b"f /usr/lib/libSystem.dylib", b"d /System/Library/Frameworks", b"d /System/Volumes/Data/home/ann/.ssh",
         b"d /Library/Keychains", b"d /opt/homebrew/bin", b"o /dev/null", b"o /dev/tty", b"o /dev/zero",
         b"d /home/ann/.ssh", b"d /home/ann/Library/Keychains", b"d /home/ann/fold", b"d /home/ann/fold/Sub", b"d /home/ann/x",
         b"d /home/ann/x/y", b"f /home/ann/x/.env", b"d /home/ann/ws/sub", b"d /home/ann/ws/sub/deep", b"d /home/ann/ws/.git/hooks",
         b"f /home/ann/ws/.git/config", b"f /home/ann/ws/.env", b"f /home/ann/ws/a.key", b"l /home/ann/ws/out ../x",
         b"d /srv/data", b"d /srv/data/in", b"f /srv/data/in/key.pem", b'd /srv/q"uo(te', b"d /srv/back\\slash")
TREES = (b"/home/ann/x", b"/home/ann/x/y", b"/home/ann/fold", b"/home/ann/fold/Sub", b"/srv/data", b"/srv/data/in",
         b'/srv/q"uo(te', b"/srv/back\\slash", b"/home/ann/ws/sub", b"/home/ann/ws/sub/deep", b"/opt", b"/usr/lib", b"/home/ann",
         b"/tmp", b"/private/var/folders/zz")
NAMES = (b"a", b"b", b".env", b"a.key", b"key.pem", b"x.KEY", b"hooks", b".git", b"config", b"sub", b"Sub", b"deep", b"y", b"in",
         b"\xc3\xa9", b"\xe2\x82\xac", b'q"', b"(allow", b"default)", b"a)b", b"back\\slash", b"c;d", b"#", b"bin", b"git", b"sh")
PIECES = (b"a", b"b", b".env", b"*.key", b"*.pem", b".git", b"hooks", b"config", b"sub", b"?", b"??", b"[ab]", b"[!a]*", b"*e*",
          b"[[:alpha:]]", b"[a-c]*", b"\\*", b"\xc3\xa9", b"[\xc3\xa0-\xc3\xbf]", b"[!\xe2\x82\xac]", b'q"', b"(allow", b"*)*", b"a\\)b",
          b"c;*", b"[]^-]*", b"[^-a]*")
KINDS = {"none": (False, False), "denied": (False, False), "read": (True, False), "private": (True, True),
         "write": (True, True)}


def written(path):
    """As a policy names it."""
    return path.replace(b"\\", b"\\\\")


def pattern(chance):
    names = [b"**" if chance.random() < 0.3 else chance.choice(PIECES) for _ in range(chance.randrange(1, 4))]
    text = b"/".join(names)
    start = chance.random()
    if start < 0.3:
        text = written(chance.choice(TREES)) + b"/" + text
    elif start < 0.5:
        text = b"**/" + text
    return text


def rules(chance, key):
    lines = []
    for _ in range(chance.randrange(0, 5)):
        kind = chance.random()
        if kind < 0.5:
            text = pattern(chance)
        elif kind < 0.8:
            text = written(chance.choice(TREES)) + chance.choice((b"", b"/a", b"/.env", b"/sub/b", b"/in/key.pem"))
        else:
            text = chance.choice((b"@git", b"@sensitive", b"@agents"))
        lines.append(b"k " + key + b" " + (b"!" if chance.random() < 0.2 else b"") + text)
    return lines


def policy(chance):
    lines = list(NODES)
    chance.shuffle(lines)
    lines += [b"k fs.view " + chance.choice((b"system", b"host"))]
    lines += [b"k " + chance.choice((b"fs.read", b"fs.write")) + b" " + written(chance.choice(TREES))
              for _ in range(chance.randrange(0, 5))]
    lines += rules(chance, b"fs.deny") + rules(chance, b"fs.protect")
    if chance.random() < 0.3:
        lines.append(b"k fs.protect_names " + chance.choice(NAMES))
    if chance.random() < 0.2:
        lines.append(b"k mode read-only")
    if chance.random() < 0.3:
        lines += [b"k commands.default deny", b"k commands.allow " + chance.choice((b"git", b"sh", b"cc"))]
    if chance.random() < 0.3:
        lines.append(b"k fs.home " + chance.choice((b"ephemeral", b"private", b"host")))
    net = chance.choice((b"none", b"filtered", b"restricted", b"full"))
    lines.append(b"k net.mode " + net)
    if net != b"full" and chance.random() < 0.5:
        lines.append(b"k net.host_ports " + str(chance.choice((80, 5432, 65535))).encode())
    return lines


def paths(chance):
    asked = set()
    for _ in range(40):
        start = chance.choice(TREES + (b"/home/ann/ws",) * 6 + (RUN_DIR, b"/usr/bin", b"/private/etc", b"/System", b"/"))
        start = b"/private/tmp" if start == b"/tmp" else start
        names = [chance.choice(NAMES) for _ in range(chance.randrange(0, 4))]
        asked.add(b"/".join([start.rstrip(b"/"), *names]) or b"/")
    asked |= {b"/usr/bin/git", b"/usr/bin/cc", b"/home/ann/.ssh/id", b"/System/Volumes/Data/home/ann/.ssh/id",
              b"/home/ann/ws/.git/hooks", b"/home/ann/ws/sub/deep", b"/srv/data/in/key.pem", b"/Library/Keychains/x", b"/private/etc/sudoers", b"/home/ann/Library/Keychains/login"}
    return [p for p in sorted(asked) if not sbpl.within(p, b"/home/ann/ws/out")]


class Dump:
    """The product's side."""

    def __init__(self, build, *words):
        self.process = subprocess.Popen([os.path.join(build, "tests/seatbelt/seatbelt_dump"), *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, lines):
        self.process.stdin.write(b"\n".join(lines) + b"\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError(f"no answer to {lines!r}")
        return said

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait(timeout=60) != 0:
            raise AssertionError("seatbelt_dump failed")


def check(holds, text):
    if not holds:
        raise AssertionError(text)


def above(path):
    while b"/" in path[1:]:
        path = path.rpartition(b"/")[0]
        yield path


def compare_files(profile, path, said, seen):
    """I2: reading, writing and executing; I3: nothing on the way to a closed path in a writable tree can be renamed."""
    visibility, executes, denied, protected = said
    reads, writes = KINDS[visibility]
    device = path.startswith(b"/dev/")
    got = profile.allows("file-read-data", path=path)
    check(got == reads or path == b"/" or device, f"{path!r} is {visibility}, but reading is {got}")
    got = profile.allows("file-write-data", path=path, **{"vnode-type": "REGULAR-FILE"})
    check(got == writes or device, f"{path!r} is {visibility}, but writing is {got}")
    got = profile.allows("process-exec", path=path) and profile.allows("file-read-data", path=path)
    check(got == bool(reads and executes), f"{path!r} is {visibility}, executes {executes}, but executing is {got}")
    for operation in ("file-write-create", "file-write-unlink"):
        check(writes or not profile.allows(operation, path=path), f"{path!r} is {visibility}, but {operation} is allowed")
    seen[visibility] += 1
    seen["denied by name"] += denied != 0
    seen["protected by name"] += protected != 0


def compare_network(profile, answer, seen):
    mode = "restricted" if answer["own_net"] else "full"
    seen["net " + mode] += 1
    for port in (22, 80, 443, 1080, 3128, 5432, 65535):
        got = profile.allows("network-outbound", side="remote", port=port, loopback=False)
        check(got == (mode == "full"), f"port {port} of another host: {got} with net {mode}")
        local = profile.allows("network-outbound", side="remote", port=port, loopback=True)
        known = port in answer["ports"] or port in (1080, 3128)
        check(mode == "full" or known or not local, f"port {port} of loopback can be reached")
        check(local or mode != "full" and port not in answer["ports"], f"port {port} of loopback cannot be reached")
    outside = {"side": "remote", "path": b"/private/var/run/docker.sock"}
    check(profile.allows("network-outbound", **outside) == (mode == "full"), "a socket of the host")
    check(profile.allows("network-bind", side="local", path=RUN_DIR + b"/s"), "a socket of the run")
    check(not profile.allows("signal", target="others") and profile.allows("signal", target="same-sandbox"), "signals")
    check(not profile.allows("sysctl-read", **{"sysctl-name": b"kern.procargs2"}), "arguments of other processes")
    check(profile.allows("sysctl-read", **{"sysctl-name": b"hw.ncpu"}), "the number of processors")
    check(not profile.allows("mach-lookup", **{"global-name": b"com.apple.pasteboard.1"}), "the pasteboard")


def compare_policies(args):
    dump, seen = Dump(args.build), collections.Counter()
    for seed in range(args.seed, args.seed + args.policies):
        chance = random.Random(seed)
        lines, asked = policy(chance), paths(chance)
        said = json.loads(dump.ask(lines + [b"q " + p.hex().encode() for p in asked] + [b"."]))
        if "error" in said:
            seen["error"] += 1
            seen["error " + bytes.fromhex(said["error"]).decode("utf-8", "replace")[:40]] += 1
            continue
        try:
            profile = sbpl.Profile(bytes.fromhex(said["profile"]),
                                   {k: bytes.fromhex(v) for k, v in said["params"].items()})
            for path in asked:
                compare_files(profile, path, said["paths"][path.hex()], seen)
            compare_network(profile, said, seen)
            compare_places(profile, asked, said, seen)
        except (AssertionError, sbpl.Bad) as why:
            policy_text = b"\n".join(line for line in lines if line.startswith(b"k ")).decode("utf-8", "replace")
            raise AssertionError(f"seed {seed}: {why}\n{policy_text}") from why
    dump.close()
    for kind in ("none", "denied", "read", "write", "denied by name", "protected by name", "net full", "net restricted",
                 "kept in place"):
        check(seen[kind] > args.policies / 10, f"too few of a kind: {kind}: {seen[kind]}")
    check(seen["error"] < args.policies / 3, f"too many refused policies: {seen}")
    return seen


def compare_places(profile, asked, said, seen):
    """I3, for what existed when the plan was made: the directories above a closed path."""
    existing = {line.split(b" ")[1] for line in NODES}
    for path in asked:
        visibility, _, denied, protected = said["paths"][path.hex()]
        # A name that a pattern closes at any depth (2) is closed wherever its directory is moved in the tree.
        if KINDS[visibility][1] or 2 in (denied, protected) or path not in existing:
            continue
        for directory in above(path):
            if not profile.allows("file-write-data", path=directory, **{"vnode-type": "DIRECTORY"}):
                break
            seen["kept in place"] += 1
            check(not profile.allows("file-write-unlink", path=directory),
                  f"{path!r} is closed, but {directory!r} above it can be renamed")


LETTERS = ("a", "b", "A", "é", "€", "𝄞", "\u07ff", "\u0800", "\uffff", "\x01", "\x7f", "\n", ".", "-", "]", "[", "^", "\\", "*", "$",
           "(", ")", "|", "+", "?", "{", '"', "\x80", "ÿ", "1")
GLOBS = PIECES + (b"*", b"*", b"[!a]", b"[^\xc3\xa9-\xe2\x82\xac]", b"[\xf0\x9d\x84\x9e]", b"[!]a]", b"[a-]", b"[\\]]", b"[[:upper:]b]",
                  b"[[:punct:]]", b"$", b"|", b"+", b".", b"^", b"\\[", b"\\{", b"[\xdf\xbf-\xe0\xa0\x81]", b"\n", b"[!!-~]")


def compare_patterns(args):
    """The expression of a pattern matches what base/glob.c matches."""
    dump, chance, hits, errors = Dump(args.build, "patterns"), random.Random(args.seed), 0, 0
    for _ in range(args.patterns):
        names = [b"**" if chance.random() < 0.25 else b"".join(chance.choice(GLOBS) for _ in range(chance.randrange(1, 4)))
                 for _ in range(chance.randrange(1, 4))]
        text, fold = b"/".join(names), chance.random() < 0.3
        asked = ["/".join("".join(chance.choice(LETTERS) for _ in range(chance.randrange(1, 4)))
                          for _ in range(chance.randrange(1, 5))).encode() for _ in range(8)]
        asked += [bend(chance, text) for _ in range(8)]
        said = dump.ask([b" ".join([b"1" if fold else b"0", text.hex().encode()] + [p.hex().encode() for p in asked])])
        if said == b"error\n":
            errors += 1
            continue
        written, answers = said.split()
        compiled = sbpl.expression(bytes.fromhex(written.strip(b'"').decode()))
        for path, answer in zip(asked, answers.decode()):
            got = compiled.search(b"/a/" + path) is not None
            check(got == (answer == "1"), f"{text!r} fold={fold}: {path!r} is {answer}, {compiled.pattern!r} says {got}")
            hits += answer == "1"
    dump.close()
    check(hits > args.patterns and errors < args.patterns / 2, f"too few of a kind: {hits} hits, {errors} errors")
    return hits


def bend(chance, text):
    """A path that the pattern may match."""
    out = text.replace(b"**", chance.choice((b"a", b"b/a"))).replace(b"*", chance.choice((b"", b"ab", "é".encode())))
    out = out.replace(b"?", chance.choice((b"a", "é".encode(), "𝄞".encode())))
    out = re.sub(rb"\[[!^]?\]?[^]]*\]\]?", lambda _: chance.choice((b"a", b"b", b"]", "é".encode(), "€".encode(), b"-")), out)
    out = re.sub(rb"\\(.)", rb"\1", out, flags=re.S).strip(b"/")
    out = b"/".join(name for name in out.split(b"/") if name) or b"a"
    try:
        out.decode()
    except UnicodeDecodeError:
        return b"a"
    return out


def document(_args):
    """The profile of the first design document: the evaluator understands it as the document does."""
    with open(os.path.join(HERE, "document.sb"), "rb") as f:
        profile = sbpl.Profile(f.read(), {"WORKSPACE": b"/private/var/ws"})
    for path, writes in ((b"/private/var/ws", True), (b"/private/var/ws/a/b", True), (b"/private/var/wsx", False),
                         (b"/var/ws/a", False), (b"/home/ann/.bashrc", False)):
        check(profile.allows("file-read-data", path=path), f"{path!r} cannot be read")
        check(profile.allows("file-write-create", path=path) == writes, f"{path!r} writes {not writes}")
    for kind, writes in (("CHARACTER-DEVICE", True), ("REGULAR-FILE", False)):
        check(profile.allows("file-write-data", path=b"/dev/null", **{"vnode-type": kind}) == writes, f"/dev/null, {kind}")
    check(not profile.allows("network-outbound", side="remote", port=443, loopback=False), "the network")
    check(not profile.allows("signal", target="others"), "signals to others")


def contains_document(args):
    """For the document's policy, Corral's profile has every rule of the document's, word for word and in its order."""
    dump = Dump(args.build)
    said = json.loads(dump.ask([b"d /home/ann/out", b"k fs.write /home/ann/out", b"k fs.view host", b"."]))
    dump.close()
    check("error" not in said, f"refused: {bytes.fromhex(said.get('error', ''))!r}")
    ours = iter(sbpl.parse(bytes.fromhex(said["profile"])))
    with open(os.path.join(HERE, "document.sb"), "rb") as f:
        wanted = sbpl.parse(f.read())
    for form in wanted:
        check(any(form == other for other in ours), f"missing, or out of order: {form}")


def skeleton(form):
    return b"" if isinstance(form, bytes) else [skeleton(part) for part in form] if isinstance(form, list) else form


def hostile(args):
    """I1: a name of any bytes gives the rules that a plain name of its length gives."""
    dump, chance = Dump(args.build), random.Random(args.seed)
    for _ in range(max(args.policies // 3, 20)):
        name = b"".join(chance.choice((b'"', b"(", b")", b";", b"#", b"'", b"|", b"a", b"\\\\", b"\t", b"(allow", b"\xc3\xa9"))
                        for _ in range(chance.randrange(1, 9)))
        plain = re.sub(rb"\\(.)", rb"\1", name, flags=re.S)
        seen = []
        for tree, text in ((plain, name), (b"x" * len(plain), b"x" * len(plain))):
            said = json.loads(dump.ask([b"d /srv/" + tree, b"k fs.write /srv/" + text, b"k fs.deny **/" + text,
                                        b"k fs.protect /srv/" + text + b"/in/*", b"."]))
            check("error" not in said, f"{name!r} is refused: {bytes.fromhex(said.get('error', ''))!r}")
            params = {k: bytes.fromhex(v) for k, v in said["params"].items()}
            check(b"/srv/" + tree in params.values(), f"no parameter has /srv/{tree!r}")
            seen.append(skeleton(sbpl.parse(bytes.fromhex(said["profile"]))))
        check(seen[0] == seen[1], f"{name!r} changes the rules")
    dump.close()


GOLDEN = (b"d /home/ann/out", b"d /home/ann/.ssh", b"d /home/ann/ws/.git/hooks", b"f /home/ann/ws/.git/config", b"o /dev/null",
          b"d /System/Library", b"l /tmp private/tmp", b"d /private/tmp", b"s /private/var/run/db.sock", b"k fs.write /home/ann/out",
          b"k fs.protect !@agents", b"k fs.protect !@editors", b"k fs.protect !@packages", b"k fs.protect !@shells",
          b"k fs.deny **/*.key", b"k fs.deny !test/*.key", b"k net.mode filtered", b"k net.host_ports 5432",
          b"k net.sockets /private/var/run/db.sock", b".")


def golden(args):
    """A change of the generator shows as a change of this file; --update writes it."""
    dump = subprocess.run([os.path.join(args.build, "tests/seatbelt/seatbelt_dump"), "text"], input=b"\n".join(GOLDEN) + b"\n",
                          stdout=subprocess.PIPE, check=True)
    path = os.path.join(HERE, "golden.sb")
    if args.update:
        with open(path, "wb") as f:
            f.write(dump.stdout)
    with open(path, "rb") as f:
        check(f.read() == dump.stdout, f"the profile is not {path}; review the difference of --update")


TESTS = (("the profile of one policy is the checked-in one", golden),
         ("the document's profile means what the document says", document),
         ("Corral's profile for the document's policy has each of its rules", contains_document),
         ("the expression of a pattern matches what the pattern matches", compare_patterns),
         ("no path and no pattern adds a rule", hostile),
         ("a profile allows what its plan allows", compare_policies))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--policies", type=int, default=300)
    parser.add_argument("--patterns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write golden.sb")
    parser.add_argument("-v", action="store_true", help="print what was seen")
    args = parser.parse_args()
    print(f"1..{len(TESTS)}")
    failed = 0
    for n, (name, test) in enumerate(TESTS, 1):
        try:
            seen = test(args)
            print(f"ok {n} - {name}", flush=True)
            if args.v and seen:
                print(f"# {seen}")
        except (AssertionError, sbpl.Bad) as why:
            failed += 1
            print(f"not ok {n} - {name}")
            print("\n".join("# " + line for line in str(why).splitlines()), flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
