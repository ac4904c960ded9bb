# SPDX-License-Identifier: Apache-2.0
"""What public forges read: workflows, owners, templates.  They run elsewhere, so a name that is wrong shows late."""
import os
import re

from harness import append, check, replace

WORKFLOWS = (".gitlab-ci.yml", ".github/**/*.yml")
OWNERS = ".github/CODEOWNERS"


def commands(found):
    """Every string beneath the keys that hold commands."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key in ("run", "script", "before_script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from commands(value)
    elif isinstance(found, list):
        for item in found:
            yield from commands(item)


def missing(tree, command):
    """The scripts and make targets of a command that are not there."""
    makefile = tree.whole().text("Makefile")
    for script in re.findall(r"(?:^|\s)(packaging/[\w./-]+)", command):
        if not os.access(tree.path(script), os.X_OK):
            yield script
    for target in re.findall(r"(?:^|&& )make ([a-z-]+)", command):
        if not re.search(rf"^[a-z -]*\b{target}\b[a-z -]*:", makefile, re.MULTILINE):
            yield f"make {target}"


@check("every workflow is YAML, and what it runs is there",
       append(".gitlab-ci.yml", "wrong: [\n"), append(".github/workflows/check.yml", "\ttab: 1\n"),
       replace(".github/workflows/check.yml", "make quick\n", "make nothing\n"),
       replace(".gitlab-ci.yml", "compile.sh", "uncompile.sh"))
def workflows(tree):
    import yaml  # python3-yaml, of the packages for `make check`
    bad = []
    for name in tree.files(*WORKFLOWS):
        try:
            found = yaml.safe_load(tree.text(name))
        except yaml.YAMLError as error:
            bad.append(f"{name}: {error}")
            continue
        bad += [f"{name}: {word}" for command in commands(found) for word in missing(tree, command)]
    return bad


@check("every path that has an owner exists", append(OWNERS, "/src/nowhere/ @nobody\n"))
def owners(tree):
    return [f"{f}:{n}: {line.split()[0]}" for f, n, line in tree.lines(OWNERS)
            if line.startswith("/") and not os.path.exists(tree.path(line.split()[0].strip("/")))]
