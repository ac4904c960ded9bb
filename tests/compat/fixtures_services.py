# SPDX-License-Identifier: Apache-2.0
"""Packages for pip and npm, made here so that no row needs a registry."""
import base64
import hashlib
import io
import json
import os
import tarfile
import zipfile


def write(top, name, text):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def archive(path, members):
    """A tar file of {name: text} that is the same whenever it is made."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text.encode()), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))


# -- Python --

PYPROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "{name}"
version = "{version}"
[tool.setuptools]
py-modules = ["{name}"]
"""


def wheel(top, name, version, text):
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: corpus\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(os.path.join(top, f"{name}-{version}-py3-none-any.whl"), "w") as package:
        for member, content in members.items():
            package.writestr(member, content)


def wheels(top):
    """dist/ with a wheel that has a command, and a source distribution."""
    dist = os.path.join(top, "dist")
    os.mkdir(dist)
    wheel(dist, "sample", "1.0", 'def main():\n    print("sample runs")\n\n\nif __name__ == "__main__":\n    main()\n')
    archive(f"{dist}/other-2.0.tar.gz", {
        "other-2.0/PKG-INFO": "Metadata-Version: 2.1\nName: other\nVersion: 2.0\n",
        "other-2.0/pyproject.toml": PYPROJECT.format(name="other", version="2.0"),
        "other-2.0/other.py": "VALUE = 42\n",
    })


def pyproject(top):
    write(top, "pyproject.toml", PYPROJECT.format(name="project", version="0.1")
          + '[project.scripts]\nproject = "project:main"\n')
    write(top, "project.py", 'def main():\n    print("first")\n')


# -- Node --

def npm_dependency(top, name):
    """A package with a command, and what a lock file says of it."""
    path = os.path.join(top, f"{name}-1.0.0.tgz")
    archive(path, {
        "package/package.json": json.dumps({"name": name, "version": "1.0.0", "main": "i.js", "bin": {name: "cli.js"}}),
        "package/i.js": f"module.exports = n => '{name} ' + n\n",
        "package/cli.js": f"#!/usr/bin/env node\nconsole.log(require('./i.js')(process.argv.slice(2).join(' ')))\n",
    })
    with open(path, "rb") as file:
        digest = base64.b64encode(hashlib.sha512(file.read()).digest()).decode()
    return {"version": "1.0.0", "resolved": f"file:{name}-1.0.0.tgz", "integrity": f"sha512-{digest}",
            "bin": {name: "cli.js"}}


def npm(top):
    """A project with scripts, tests, a workspace-less dependency in a tarball and one in a directory."""
    locked = npm_dependency(top, "dep")
    package = {
        "name": "sample", "version": "1.0.0", "license": "MIT",
        "scripts": {"pretest": "echo before", "test": "node test.js", "build": "dep built > out.txt && cat out.txt",
                    "fail": "node -e 'process.exit(7)'", "greet": "echo $GREETING $npm_package_name"},
        "dependencies": {"dep": "file:dep-1.0.0.tgz"},
    }
    write(top, "package.json", json.dumps(package, indent=2) + "\n")
    root = {key: package[key] for key in ("name", "version", "license", "dependencies")}
    lock = {"name": "sample", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
            "packages": {"": root, "node_modules/dep": locked}}
    write(top, "package-lock.json", json.dumps(lock, indent=2) + "\n")
    write(top, "test.js", "require('assert').strictEqual(require('dep')(1), 'dep 1')\nconsole.log('tests passed')\n")
    write(top, "local/package.json", '{"name": "local", "version": "2.0.0", "main": "l.js"}\n')
    write(top, "local/l.js", "module.exports = 'local'\n")


FIXTURES = {"npm": npm, "pyproject": pyproject, "wheels": wheels}
