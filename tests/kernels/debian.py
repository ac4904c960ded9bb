# SPDX-License-Identifier: Apache-2.0
"""Debian's packages without installing them: an apt of our own, beneath one directory.

The archive is the one that this machine's apt already uses; only the suite and
the architecture differ.  Nothing of the machine's own apt is written to, and
every index and package is verified with the keys that the machine trusts.
"""
import glob
import os
import re
import subprocess

COMPONENT = "main"


class Missing(Exception):
    """A package that the archive does not give us, and why."""


def machine_archive():
    """(address, suite) of the archive that this machine's own packages come from."""
    asked = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    said = subprocess.run(["apt-get", "indextargets", "--format", asked, "Created-By: Packages"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split() for line in said.splitlines()]
    for address, suite, component in names:
        if component == COMPONENT and "-" not in suite:
            return address, suite
    raise Missing("apt has no plain Debian suite among its sources")


class Apt:
    """One suite set and one architecture; an empty machine as far as apt knows."""

    def __init__(self, place, suites, architecture):
        self.place = os.path.join(place, f"{'+'.join(suites)}-{architecture}")
        self.suites = suites
        for name in ("etc", "state/lists/partial", "cache/archives/partial"):
            os.makedirs(f"{self.place}/{name}", exist_ok=True)
        address = machine_archive()[0]
        with open(f"{self.place}/etc/sources.list", "w", encoding="utf-8") as out:
            for suite in suites:
                print(f"deb {address} {suite} {COMPONENT}", file=out)
        with open(f"{self.place}/state/status", "w", encoding="utf-8"):
            pass
        self.options = [word for pair in {
            "Dir::Etc::sourcelist": f"{self.place}/etc/sources.list",
            "Dir::Etc::sourceparts": "-", "Dir::Etc::preferences": "-", "Dir::Etc::preferencesparts": "-",
            "Dir::State": f"{self.place}/state", "Dir::State::status": f"{self.place}/state/status",
            "Dir::Cache": f"{self.place}/cache", "APT::Architecture": architecture,
            "APT::Architectures": architecture, "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "Acquire::Languages": "none", "Acquire::Retries": "3", "Debug::NoLocking": "true",
        }.items() for word in ("-o", "=".join(pair))]

    def call(self, program, *words):
        done = subprocess.run([program, *self.options, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode != 0:
            said = [line for line in done.stdout.splitlines() if line.startswith(("E:", "Err:"))]
            raise Missing(" ".join(said or done.stdout.splitlines()[-1:])[:300])
        return done.stdout

    def update(self):
        self.call("apt-get", "update", "-q")

    def with_dependencies(self, names):
        """The files of these packages and of all that they depend on."""
        self.call("apt-get", "install", "-y", "-q", "--download-only", *names)
        said = self.call("apt-get", "install", "-y", "-q", "--simulate", *names)
        found = []
        for name, version, architecture in re.findall(r"^Inst (\S+) \((\S+) .*\[(\S+)\]", said, re.MULTILINE):
            file = f"{name.split(':')[0]}_{version.replace(':', '%3a')}_{architecture}.deb"
            found.append(f"{self.place}/cache/archives/{file}")
        return sorted(found)

    def depends(self, name):
        """What the newest version of a package depends on, by name."""
        said = self.call("apt-cache", "show", "--no-all-versions", name)
        for line in said.splitlines():
            if line.startswith("Depends:"):
                return [word.split()[0] for word in line.partition(":")[2].split(",")]
        return []

    def alone(self, name):
        """The file of one package."""
        place = f"{self.place}/cache/archives/alone"
        os.makedirs(place, exist_ok=True)
        done = subprocess.run(["apt-get", *self.options, "download", "-q", name], cwd=place, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        found = sorted(glob.glob(f"{place}/{name}_*.deb"), key=os.path.getmtime)
        if done.returncode != 0 or not found:
            raise Missing(" ".join(done.stdout.split())[-300:])
        return found[-1]


def unpack(package, target):
    subprocess.run(["dpkg-deb", "-x", package, target], check=True)
