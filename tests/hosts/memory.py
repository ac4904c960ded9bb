# SPDX-License-Identifier: Apache-2.0
"""What a run remembers of a set-up that failed in its middle, and what makes it forget.

The host is the outer filter `mounts`: a user namespace can be made, and no mount in it, as under
AppArmor's restriction.
"""
import os

from harness import check, equal

FILE = ".local/state/corral/namespaces"


def level_of(box, *words):
    done = box.execute([*words, box.corral, "run", "--json", "--", "true"]).exited(0)
    return done.json["level"]


def register(suite):
    def limited():
        return [suite.without, "mounts"]

    @suite.test("a set-up that fails in its middle is remembered, and not for others")
    def remembered(box):
        path = f"{box.home}/{FILE}"
        # The private home of the first run makes the state directory; the second finds where to write.
        equal([level_of(box, *limited()) for _ in range(2)], ["standard", "standard"], "the limited host")
        check(os.path.exists(path), "nothing was remembered")
        key = box.read(f"home/{FILE}").splitlines()[0]
        equal(level_of(box), "full", "a run with other surroundings")
        equal(level_of(box, *limited()), "standard", "the limited host again")
        # What is remembered is used: a run with this key does not try.
        box.write(f"home/{FILE}", f"{key}\nnremembered by the test", 0o600)
        refused = box.execute([*limited(), box.corral, "run", "--require", "pid", "--", "true"])
        check(refused.status == 125, f"status {refused.status}")
        again = box.execute([*limited(), box.corral, "run", "--min-level", "full", "--", "true"]).exited(125)
        check("remembered by the test" in again.err, f"the reason is another: {again.err}")

    @suite.test("what is remembered is dropped by whoever sees it work, and garbage is not believed")
    def forgotten(box):
        for _ in range(2):
            level_of(box, *limited())
        box.execute([box.corral, "status"]).exited(0)
        check(not os.path.exists(f"{box.home}/{FILE}"), "status works and left the memory")
        for text in ("", "\n", "x" * 5000, "0123456789abcdef\nother"):
            box.write(f"home/{FILE}", text, 0o600)
            equal(level_of(box), "full", f"with {text[:20]!r} remembered")
