# SPDX-License-Identifier: Apache-2.0
"""Whether without.c takes away what its words say, and only that."""
from harness import contains, equal

# In Python, because no program asks the kernel in just this way.  Prints the name of the error, or ok.
CALL = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
answer = libc.syscall(*(ctypes.c_long(int(word, 0)) for word in sys.argv[1:]))
print("ok" if answer >= 0 else errno.errorcode[ctypes.get_errno()])
"""
# name → the call in numbers that are the same everywhere, what this host answers, what one without it answers
CALLS = {
    "landlock": (("444", "0", "0", "1"), "ok", "ENOSYS"),  # asks for the version
    "notify": (("438", "-1", "0", "0"), "EBADF", "EPERM"),  # takes a descriptor of a bad process
    "userns": (("435", "0", "0"), "EINVAL", "ENOSYS"),  # clone3 without arguments
    "mounts": (("430", "0", "0"), "EPERM", "EACCES"),  # opens a file system without a name
}
SHELL = {
    "userns": "unshare -Ur true",
    "mounts": "unshare -Urm mount -t tmpfs none /mnt",
}


def register(suite):
    for name, (call, here, there) in CALLS.items():
        register_call(suite, name, call, here, there)
    for name, script in SHELL.items():
        register_script(suite, name, script)

    @suite.test("without seccomp: no filter can be added")
    def no_filters(box):
        for words in ((), (suite.without, "seccomp")):
            done = box.execute([*words, suite.without, "landlock", "true"])
            equal(done.status, 99 if words else 0, "loading a filter")

    @suite.test("without: a word that is none stops everything")
    def bad_words(box):
        for word in ("nothing", "userns,", "", "user", "landlock,landlock"):
            done = box.execute([suite.without, word, "echo", "ran"])
            equal((done.status, done.out), (99, ""), f"the word {word!r}")
        contains(box.execute([suite.without, "userns,landlock", "echo", "ran"]).out, "ran", "two words")


def register_call(suite, name, call, here, there):
    @suite.test(f"without {name}: the call is answered as on a host that lacks it")
    def answered(box):
        ask = ["python3", "-c", CALL, *call]
        equal(box.execute(ask).out.strip(), here, "this host")
        equal(box.execute([suite.without, name, *ask]).out.strip(), there, f"without {name}")
        for other in set(CALLS) - {name}:
            equal(box.execute([suite.without, other, *ask]).out.strip(), here, f"without {other}")


def register_script(suite, name, script):
    @suite.test(f"without {name}: what needs it fails")
    def fails(box):
        box.execute(["/bin/sh", "-c", script]).exited(0)
        equal(box.execute([suite.without, name, "/bin/sh", "-c", script]).status, 1, script)
        box.execute([suite.without, "landlock", "/bin/sh", "-c", script]).exited(0)
