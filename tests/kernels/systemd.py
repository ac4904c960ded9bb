#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boots a machine with Debian's systemd and checks the limits of a user who logged in.  `make systemd`.

The machine is as run.py makes it, with systemd as its first process; what is
checked in it is systemd_guest.py.  Exit status: 1 when a check failed or the
machine ended without its report.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import debian  # noqa: E402  the path has to be set first
import image  # noqa: E402
import run  # noqa: E402

KERNEL = next(kernel for kernel in run.KERNELS if kernel[0] == "6.12")  # full has namespaces there, standard has none
PACKAGES = image.ROOT + ("systemd", "systemd-sysv", "dbus", "libpam-systemd")
TARGET = "limits-test.target"

# What the packages' scripts would have made, with as little of PAM as makes a session of logind's.
FILES = {
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/pam.d/other": "auth required pam_deny.so\naccount required pam_permit.so\nsession required pam_permit.so\n",
    "etc/pam.d/systemd-user": "account required pam_permit.so\nsession required pam_systemd.so\n",
    "etc/pam.d/runuser-l": "auth sufficient pam_rootok.so\naccount required pam_permit.so\nsession required pam_systemd.so\n",
    f"var/lib/systemd/linger/{image.USER}": "",
    f"etc/systemd/system/{TARGET}": "[Unit]\nRequires=basic.target limits-test.service\nAfter=basic.target\n",
    "etc/systemd/system/limits-test.service": f"""[Unit]
Requires=dbus.socket systemd-logind.service
After=basic.target dbus.socket systemd-logind.service user@{image.USER_ID}.service
[Service]
ExecStart=/usr/bin/python3 /corral/tests/kernels/systemd_guest.py
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
""",
}


class Workshop(run.Workshop):
    """The same machine, with systemd in its root."""

    def base(self, architecture):
        found = super().base(architecture)
        apt = debian.Apt(f"{self.place}/apt", [debian.machine_archive()[1]], architecture)
        root = f"{self.place}/root-systemd-{architecture}"
        self.make_root(root, apt.with_dependencies(PACKAGES), architecture, found[1:])
        for path, text in FILES.items():
            image.write(f"{root}/{path}", text)
        with open(f"{root}/etc/passwd", "r+", encoding="utf-8") as users:
            if "messagebus" not in users.read():
                users.write("messagebus:x:900:900::/nonexistent:/usr/sbin/nologin\n")
        with open(f"{root}/etc/group", "r+", encoding="utf-8") as groups:
            if "messagebus" not in groups.read():
                groups.write("messagebus:x:900:\n")
        return (root, *found[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="the build whose corral and probe are tested")
    parser.add_argument("--place", required=True, help="where everything is kept; made when it is not there")
    parser.add_argument("--time", type=int, default=1800, help="seconds that the machine may take")
    parser.add_argument("--only", help="a part of the names of the checks")
    options = parser.parse_args()
    place = os.path.abspath(options.place)
    _, architecture, suites, version = KERNEL
    try:
        argv, console = Workshop(place, options.build).machine("systemd", architecture, suites, version)
    except debian.Missing as problem:
        print(f"not run: {problem}")
        return 1
    words = f"{run.COMMAND_LINE} console={console} FIRST=/usr/lib/systemd/systemd systemd.unit={TARGET}"
    words += f" corral.only={options.only}" if options.only else ""
    log = f"{place}/systemd.log"
    print(f"systemd: booting; console in {log}", flush=True)
    found = run.boot(argv + ["-append", words], log, options.time)
    if found is None or "broken" in found:
        print(f"FAILED: {found['broken'] if found else run.last_words(log)}")
        return 1
    for name, said in found["checks"].items():
        print(f"{'ok    ' if said is None else 'FAILED'} {name}{'' if said is None else ': ' + said}")
    failed = [name for name, said in found["checks"].items() if said is not None]
    print(f"{found['systemd']}, Linux {found['release']}: {len(found['checks']) - len(failed)} held, {len(failed)} not, "
          f"{found['seconds']} s")
    return 1 if failed or not found["checks"] else 0


if __name__ == "__main__":
    sys.exit(main())
