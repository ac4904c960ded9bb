# SPDX-License-Identifier: Apache-2.0
"""The process that is the lab's internet, in namespaces of its own.  Started by lab.py.

    internet.py FOLDER UID GID [SERVICE…]

Says "here" once it lives in its namespaces, waits for a line, and says "ready" when
everything listens.  It is the first process of its process namespace: with it all ends.
"""
import resource
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

import names  # noqa: E402
import origins  # noqa: E402
import services  # noqa: E402
import sites  # noqa: E402
import world  # noqa: E402


def configure(lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True, stdout=subprocess.DEVNULL)


def addresses():
    yield "link set lo up"
    yield "link set net0 up"
    for text in world.PUBLIC4:
        yield f"address add {text}/24 dev net0"
    for text in world.PUBLIC6:
        yield f"address add {text}/64 dev net0 nodad"
    yield f"address add {world.LINK}/64 dev net0 nodad"
    for text in world.HIDDEN4:
        yield f"address add {text}/32 dev lo"
    for text in world.HIDDEN6:
        yield f"address add {text}/128 dev lo nodad"


def accounts(folder, uid, gid):
    """The users of this side: root, and git, who is whoever runs the services."""
    with open(f"{folder}/passwd", "w", encoding="utf-8") as out:
        out.write(f"root:x:0:0::/root:/bin/sh\ngit:x:{uid}:{gid}::{folder}/keeper/git:/bin/sh\n")
    subprocess.run(["mount", "--bind", f"{folder}/passwd", "/etc/passwd"], check=True)


def main():
    folder, uid, gid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("here", flush=True)
    sys.stdin.readline()
    configure(addresses())
    accounts(folder, uid, gid)
    log = origins.Log(f"{folder}/origin.log")
    found = origins.Origins(log, sites.Pages(folder), lambda: origins.tls_context(folder))
    origins.start(found)
    found.packets("net0")
    names.start(found, log)
    services.start(found, sys.argv[4:], folder, (uid, gid))
    print("ready", flush=True)
    sys.stdin.read()  # until the lab is gone


if __name__ == "__main__":
    main()
