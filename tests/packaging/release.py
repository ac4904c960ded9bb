#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/release.sh in a scratch clone: what it makes, and what it refuses without changing anything.  Speaks TAP."""
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSION = "98.7.6"
CHANGES = f"# Changelog\n\n## {VERSION} (unreleased)\n\n- A change that users notice.\n\n## 0.0.1 (2020-01-01)\n\n- Older.\n"
SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
            # A commit's time is the time of the files in its tarball.
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def run(place, *argv):
    done = subprocess.run(argv, cwd=place, env={**os.environ, **SETTINGS}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def git(place, *words):
    status, said = run(place, "git", *words)
    assert status == 0, said
    return said.strip()


def clone(place):
    """The tree as it is now, in one commit: the release is made of that."""
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-c", "-o", "--exclude-standard"], check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    for name in filter(None, files):
        if os.path.lexists(f"{ROOT}/{name}"):
            os.makedirs(os.path.dirname(f"{place}/{name}"), exist_ok=True)
            shutil.copy2(f"{ROOT}/{name}", f"{place}/{name}", follow_symlinks=False)
    with open(f"{place}/CHANGELOG.md", "w", encoding="utf-8") as file:
        file.write(CHANGES)
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "begin")


def release(place, *words):
    return run(place, "packaging/release.sh", *words)


def text(place, name):
    with open(f"{place}/{name}", encoding="utf-8") as file:
        return file.read()


def a_release_has_its_version_everywhere(place):
    assert f"version: '{VERSION}'" in text(place, "meson.build")
    assert f'#define CORRAL_VERSION "{VERSION}"' in text(place, "include/corral.h")
    assert re.search(rf"^## {VERSION} \(\d{{4}}-\d\d-\d\d\)$", text(place, "CHANGELOG.md"), re.M)
    assert "## 0.0.1 (2020-01-01)" in text(place, "CHANGELOG.md")
    assert git(place, "status", "--porcelain") == ""
    changed = git(place, "show", "--name-only", "--format=", "HEAD").split()
    assert changed == ["CHANGELOG.md", "include/corral.h", "meson.build"], changed


def the_commit_is_signed_off_and_tagged_with_the_notes(place):
    assert "Signed-off-by: A <a@example.org>" in git(place, "log", "-1", "--format=%B")
    assert git(place, "rev-parse", f"v{VERSION}^{{commit}}") == git(place, "rev-parse", "HEAD")
    notes = git(place, "tag", "-l", "--format=%(contents)", f"v{VERSION}")
    assert "- A change that users notice." in notes and "Older" not in notes, notes


def the_tarball_is_the_tree_and_fits_its_sum(place):
    name = f"{place}/build-release/corral-{VERSION}.tar.gz"
    with open(name, "rb") as file:
        raw = file.read()
    assert text(place, f"build-release/corral-{VERSION}.tar.gz.sha256").split()[0] == hashlib.sha256(raw).hexdigest()
    assert gzip.decompress(raw) and raw[4:8] == b"\0\0\0\0", "the time is in the tarball"
    with tarfile.open(name) as tar:
        packed = sorted(entry.name for entry in tar if not entry.isdir())
    tree = git(place, "-c", "core.quotePath=off", "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    assert packed == sorted(f"corral-{VERSION}/{file}" for file in tree if file), "the tarball is not the tree"


def the_tarball_can_be_configured(place):
    assert run(place, "tar", "-xzf", f"build-release/corral-{VERSION}.tar.gz", "-C", "build-release")[0] == 0
    top = f"{place}/build-release/corral-{VERSION}"
    status, said = run(top, "meson", "setup", "build")
    assert status == 0, said
    assert f"Project version: {VERSION}" in said, said


def the_same_commit_gives_the_same_tarball(place):
    first = text(place, f"build-release/corral-{VERSION}.tar.gz.sha256")
    with tempfile.TemporaryDirectory() as other:
        git(other, "clone", "-q", place, "again")
        git(f"{other}/again", "reset", "-q", "--hard", f"v{VERSION}~1")
        git(f"{other}/again", "tag", "-d", f"v{VERSION}")
        assert release(f"{other}/again", VERSION, other)[0] == 0
        assert git(f"{other}/again", "rev-parse", "HEAD") == git(place, "rev-parse", "HEAD")
        assert text(other, f"corral-{VERSION}.tar.gz.sha256") == first


def refused(place, words, reason):
    before = git(place, "log", "--format=%H"), git(place, "tag"), git(place, "status", "--porcelain")
    status, said = release(place, *words)
    assert status == 1 and reason in said and "remedy: " in said, (status, said)
    assert before == (git(place, "log", "--format=%H"), git(place, "tag"), git(place, "status", "--porcelain"))


def it_refuses_what_is_no_version(place):
    for word in ("1.2", "v1.2.3", "1.2.3-rc1", "01.2.3", "1.2.3; true"):
        refused(place, [word], "is not a version")
    assert release(place)[0] == 2


def it_refuses_a_tree_that_differs_from_the_commit(place):
    with open(f"{place}/meson.build", "a", encoding="utf-8") as file:
        file.write("# more\n")
    refused(place, [VERSION], "differ from the commit")


def it_refuses_a_version_without_a_changelog(place):
    refused(place, ["98.7.7"], "CHANGELOG.md has no entry")


def it_refuses_a_tag_that_exists_and_a_version_that_is_older(place):
    git(place, "tag", f"v{VERSION}")
    refused(place, [VERSION], "exists")
    git(place, "tag", "v99.0.0")
    git(place, "tag", "-d", f"v{VERSION}")
    refused(place, [VERSION], "is older than 99.0.0")


# These look at one release, and the others refuse one.
RELEASED = [a_release_has_its_version_everywhere, the_commit_is_signed_off_and_tagged_with_the_notes,
            the_tarball_is_the_tree_and_fits_its_sum, the_tarball_can_be_configured, the_same_commit_gives_the_same_tarball]
REFUSED = [it_refuses_what_is_no_version, it_refuses_a_tree_that_differs_from_the_commit,
           it_refuses_a_version_without_a_changelog, it_refuses_a_tag_that_exists_and_a_version_that_is_older]


def undo(place, begin):
    """The clone as it was before a test."""
    git(place, "reset", "-q", "--hard", begin)
    for tag in git(place, "tag").split():
        git(place, "tag", "-d", tag)
    shutil.rmtree(f"{place}/build-release", ignore_errors=True)


def attempt(place, number, test):
    try:
        test(place)
    except AssertionError as error:
        print("".join(f"# {line}\n" for line in str(error).splitlines()) + f"not ok {number} - {test.__name__}", flush=True)
        return 1
    print(f"ok {number} - {test.__name__}", flush=True)
    return 0


def main():
    if not os.path.exists(f"{ROOT}/.git"):
        print("ok 1 - a release # SKIP this tree is not a clone\n1..1")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="corral-release-") as place:
        clone(place)
        begin = git(place, "rev-parse", "HEAD")
        status, said = release(place, VERSION)
        if status != 0:
            print(f"{said}\nBail out! there is no release to look at")
            return 1
        for number, test in enumerate(RELEASED, 1):
            failed += attempt(place, number, test)
        for number, test in enumerate(REFUSED, number + 1):
            undo(place, begin)
            failed += attempt(place, number, test)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
