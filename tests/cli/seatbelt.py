# SPDX-License-Identifier: Apache-2.0
"""`corral explain --seatbelt`: the profile that a policy has on macOS, as the evaluator of tests/seatbelt reads it."""
import os
import re
import sys

from harness import check, contains, equal

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAC = os.path.join(TESTS, "hosts", "snapshots", "macos-15.json")
sys.path.append(os.path.join(TESTS, "seatbelt"))
import sbpl  # noqa: E402  the path has to be set first


def profile_of(box, *words):
    text = box.corral_("explain", "--seatbelt", *words).exited(0).out
    contains(text.splitlines()[0], "enforcement has not been run", "the first line")
    params = dict(re.findall(r"^; -D (\w+)=(.*)$", text, re.MULTILINE))
    return sbpl.Profile(text.encode(), {name: value.encode() for name, value in params.items()})


def register(suite):
    test = suite.test

    @test("the profile for macOS writes the workspace and hides what the policy denies")
    def _(box):
        box.write("ws/.env", "x")
        profile = profile_of(box, "--deny", "**/.env", "--host-port", "5432")
        ws = os.path.realpath(box.ws).encode()
        check(profile.allows("file-write-create", path=ws + b"/new"), "the workspace")
        check(profile.allows("file-read-data", path=ws + b"/a"), "the workspace")
        check(not profile.allows("file-read-data", path=ws + b"/sub/.env"), "a denied name")
        check(not profile.allows("file-write-create", path=ws + b"/.git/hooks/pre-commit"), "a protected name")
        check(profile.allows("network-outbound", side="remote", port=5432, loopback=True), "a port of the host")
        check(not profile.allows("network-outbound", side="remote", port=5433, loopback=True), "another one")

    @test("a snapshot of a Mac needs no word about macOS, and no guarantee is enforced there")
    def _(box):
        path = box.write("mac.json", open(MAC, "rb").read())
        plan = box.corral_("explain", "--json", "--host", path).exited(0).json["plan"]
        equal((plan["engine"], plan["level"]), ("seatbelt", "standard"), "engine and level")
        for row in plan["guarantees"]:
            name = row["name"]
            check(row["state"] != "enforced" or name in ("limits.time", "limits.output", "leaks"), f"{name} is enforced")
        box.corral_("explain", "--host", path, "--require", "fs.write").exited(125).said("has not been run on macOS")
        profile = profile_of(box, "--host", path, "--read", "/Users/user", "--write", "/tmp/x/..")
        for closed in (b"/Users/user/.ssh/id", b"/Users/user/Library/Keychains/login", b"/System/Volumes/Data/Users/user/x"):
            check(not profile.allows("file-read-data", path=closed), f"{closed} can be read")
        check(profile.allows("file-write-create", path=b"/private/tmp/new"), "/tmp is /private/tmp")
        check(not profile.allows("file-write-create", path=b"/Users/user/project/.GIT/hooks/x"), "another case")

    @test("what macOS cannot enforce is refused with a remedy")
    def _(box):
        box.corral_("explain", "--seatbelt", "-p", "80:81").exited(125).said("publish 80 under the same number")
        box.corral_("explain", "--seatbelt", "--level", "full").exited(125).said("use --level standard")
        box.corral_("explain", "--seatbelt", "--json").exited(2).said("cannot be combined")
