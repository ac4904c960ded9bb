# SPDX-License-Identifier: Apache-2.0
"""A run inside a run: the inner one may only narrow.

Each row closes something with the outer run and asks the inner one to open it as
wide as its options go.  Without the outer run the same inner call succeeds, or
there is nothing to prove; an inner run that asks for nothing works; the verdict is
the host's state or what was printed.
"""
import os
import signal
import socket
import subprocess
import threading

from harness import PATIENCE, Skip, check, contains, wait_until
from hosts import Nested

SECRET = "tell-nobody"
OUTER_LEVELS = ("full", "standard")


class Scene:
    """Bait in one box."""

    def __init__(self, box):
        self.box = box
        self.outer = box.mkdir("outer")
        box.write("outer/canary", SECRET + "\n")
        box.write("ws/denied", SECRET + "\n")
        box.write("ws/kept", "kept\n")
        self.victim = subprocess.Popen(["sleep", "600"], **box.user.popen_words())
        self.heard = threading.Event()
        self.sockets = [socket.create_server(("127.0.0.1", 0)), self.unix(f"{self.outer}/s.sock")]
        self.words = {"O": self.outer, "W": box.ws, "V": str(self.victim.pid),
                      "L": str(self.sockets[0].getsockname()[1])}
        for one in self.sockets:
            threading.Thread(target=self.listen, args=(one,), daemon=True).start()

    @staticmethod
    def unix(path):
        one = socket.socket(socket.AF_UNIX)
        one.bind(path)
        os.chmod(path, 0o777)
        one.listen(4)
        return one

    def listen(self, one):
        while True:
            try:
                peer, _ = one.accept()
            except OSError:
                return  # closed
            with peer:
                if peer.recv(16):
                    self.heard.set()

    def fill(self, text):
        for name, value in self.words.items():
            text = text.replace(f"${name}", value)
        return text

    def close(self):
        for one in self.sockets:
            one.shutdown(socket.SHUT_RDWR)
            one.close()
        os.unlink(f"{self.outer}/s.sock")
        self.victim.kill()
        self.victim.wait()


def changed(path):
    return lambda scene, _done: SECRET not in scene.box.read(path) if path == "outer/canary" else \
        scene.box.read(path) != "kept\n"


def printed(_scene, done):
    return SECRET in done.out + done.err


def moment(done):
    """What a command could send arrives, on a loaded machine late; what it could not is looked for once."""
    return PATIENCE if done.status == 0 else 0.3


def told(scene, done):
    return scene.heard.wait(moment(done))


def killed(scene, done):
    return bool(wait_until(lambda: scene.victim.poll() == -signal.SIGTERM, moment(done)))


# Without mounts a rule needs the broker, which an inner sandbox cannot have around it.
BY_MOUNTS = ("full",)
# name, options of the outer run, options of the inner one, what the innermost shell does, what the host sees
ROWS = (
    ("a file outside is written", "", "--write $O", "echo x >$O/canary", changed("outer/canary")),
    ("a file outside is read", "", "--read $O", "cat $O/canary", printed),
    ("a denied file is read", "--deny denied", "--read $W/denied", "cat $W/denied", printed, BY_MOUNTS),
    ("a protected file is written", "--protect kept", "--write $W/kept", "echo x >$W/kept", changed("ws/kept"), BY_MOUNTS),
    ("a read-only workspace is written", "--mode read-only", "--write $W", "echo x >$W/kept", changed("ws/kept")),
    ("a service of the host's loopback is told", "", "--net full",
     "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$L && echo hello >&3'", told),
    ("a socket file outside is told", "", "--read $O --net full",
     "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"$O/s.sock\"); s.send(b\"hello\")'", told),
    ("a process outside is signalled", "", "", "kill $V", killed),
)
# What the innermost command could do without any sandbox but not in one run: the control has none.
WITHOUT_INNER = {"a process outside is signalled", "a socket file outside is told"}


def inner(scene, row):
    return [scene.box.corral, "run", "--no-config", *scene.fill(row[2]).split(), "--",
            "/bin/sh", "-c", scene.fill(row[3])]


def control(box, row):
    """The inner call alone, or the bare command where any one run would close it."""
    scene = Scene(box)
    try:
        argv = ["/bin/sh", "-c", scene.fill(row[3])] if row[0] in WITHOUT_INNER else inner(scene, row)
        if not row[4](scene, box.execute(argv)):
            raise Skip("the attempt does not succeed without the outer run either")
    finally:
        scene.close()


def register_row(suite, level, row):
    @suite.test(f"inside corral at {level}: {row[0]}: no")
    def narrow(box):
        control(box, row)
        scene = Scene(box)
        try:
            place = type("Outer", (Nested,), {"level": level})(box, suite.without)
            outer = place.words(scene.fill(row[1]).split())
            twin = box.execute([*outer, box.corral, "run", "--no-config", "--", "echo", "inner"])
            contains(twin.exited(0).out, "inner", "an inner run that asks for nothing")
            done = box.execute([*outer, *inner(scene, row)])
            check(not row[4](scene, done), f"the inner run opened what the outer one had closed: {done}")
        finally:
            scene.close()


def register(suite):
    for level in OUTER_LEVELS:
        for row in ROWS:
            if level in (row[5] if len(row) > 5 else OUTER_LEVELS):
                register_row(suite, level, row)

        @suite.test(f"inside corral at {level}: no sandbox is set up that would not hold, and the remedy is told")
        def refused(box, level=level):
            done = box.execute([box.corral, "run", "--no-config", "--level", level, "--read", box.corral, "--",
                                box.corral, "run", "--no-config", "--", "touch", "ran"])
            contains(done.exited(125).err, "--allow-nested", "stderr")
            check(not os.path.exists(f"{box.ws}/ran"), "the inner command ran")
