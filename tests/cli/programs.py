# SPDX-License-Identifier: Apache-2.0
"""Well-known programs that need one file or directory beside the workspace: each passes outside, fails in the sandbox, and
passes with the grants that `corral learn --replay` proposes; nothing broader than the directory that holds the files."""
import os
import shutil
import tomllib

from harness import Skip, check, contains
from hints import elsewhere, sh

LEVEL = "full"  # learning needs copy-on-write

# The program, what it does in the workspace; {far} is a directory of the caller's that is not granted.
ROWS = [
    ("awk", "awk '{{print}}' {far}/f"),
    ("bash", "bash {far}/script.sh"),
    ("cc", "cc -I{far}/include -o prog prog.c"),
    ("cmp", "cmp {far}/f copy"),
    ("cp", "cp -r {far}/data here"),
    ("curl", "curl -sf file://{far}/f"),
    ("diff", "diff -r {far}/data data"),
    ("dd", "dd if=/dev/zero of={far}/out/zero bs=1 count=8"),
    ("git", "git clone -q {far}/repo cloned"),
    ("gzip", "gzip -dc {far}/f.gz"),
    ("make", "make -s -f {far}/Makefile"),
    ("mv", "cp prog.c moved && mv moved {far}/out/"),
    ("node", "node {far}/script.js"),
    ("npm", "npm install --offline --no-audit --no-fund --silent {far}/package"),
    ("openssl", "openssl dgst -sha256 {far}/f"),
    ("patch", "patch -s {far}/out/target {far}/change.diff"),
    ("perl", "perl -e 'open(F, q(<), shift) or die; print <F>' {far}/f"),
    ("python3", "PYTHONPATH={far}/include python3 -c 'import module'"),
    ("rsync", "rsync -a data/ {far}/out/"),
    ("sed", "sed -i s/a/b/ {far}/out/target"),
    ("sqlite3", "sqlite3 {far}/out/base.db 'create table t (a)'"),
    ("tar", "tar -xf {far}/a.tar"),
    ("tee", "echo x | tee {far}/out/log"),
    ("unzip", "unzip -q {far}/a.zip -d unpacked"),
    ("xz", "xz -dc {far}/f.xz"),
]

SETUP = """
set -e
cd {far}
mkdir -p data include out package repo
echo a >data/x
echo 'int answer(void);' >include/answer.h
echo 'x = 1' >include/module.py
printf 'echo script\\n' >script.sh
printf 'console.log(1)\\n' >script.js
printf 'all:\\n\\t@echo made\\n' >Makefile
printf '{{"name": "one", "version": "1.0.0"}}' >package/package.json
gzip -k f
xz -k f
tar -cf a.tar data
command -v zip >/dev/null && zip -qr a.zip data
git -c init.defaultBranch=main init -q repo
git -C repo -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m first
"""

FRESH = """
set -e
rm -rf {far}/out/* here cloned unpacked node_modules package*.json prog moved data
echo a >{far}/out/target
printf -- '--- target\\n+++ target\\n@@ -1 +1 @@\\n-a\\n+b\\n' >{far}/change.diff
mkdir data && echo a >data/x
cp {far}/f copy
printf '#include "answer.h"\\nint main(void) {{ return 0; }}\\n' >prog.c
"""


def register(suite):
    for program, command in ROWS:
        @suite.test(f"programs: {program} passes with the grants that it was found to need")
        def _(box, program=program, command=command):
            if shutil.which(program) is None:
                raise Skip(f"{program} is not installed")
            far = elsewhere(box)
            try:
                attempt(box, far, command)
            finally:
                shutil.rmtree(far)


def attempt(box, far, command):
    def fresh():
        box.sh(FRESH.format(far=far)).exited(0)

    box.sh(SETUP.format(far=far)).exited(0)
    words = sh(command.format(far=far))
    fresh()
    outside = box.execute(words)
    if outside.status != 0:
        raise Skip(f"it fails outside: {outside.err[-200:]}")
    fresh()
    check(box.run("--no-config", "--level", LEVEL, "--", *words).status != 0, "it passes without a grant")
    done = box.corral_("learn", "--no-config", "--level", LEVEL, "--replay", "--", *words).exited(0)
    contains(done.out, "# Proven", "proposal")
    for path in [path for paths in tomllib.loads(done.out)["fs"].values() for path in paths]:
        check(path == far or path.startswith(f"{far}/"), f"a broader grant: {path}")
    fresh()
    policy = box.write("proposal.toml", done.out)
    box.run("--no-config", "--level", LEVEL, "--policy", policy, "--", *words).exited(0)
    check(not os.path.lexists(f"{box.ws}/.corral.toml"), "a policy in the workspace")
