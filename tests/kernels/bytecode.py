# SPDX-License-Identifier: Apache-2.0
"""Python of a machine, compiled before it boots.

A package brings its modules as text, and the scripts that would compile them are not run.  An emulated processor then
compiles a dozen modules at every start of Python, which takes longer than the row that starts it.  The bytecode of a
version is the same on every architecture, so this machine makes it, with the same version for its own architecture.
"""
import os
import subprocess

import debian
import image

LEFT_OUT = r"/lib/python3[.0-9]*/(test|idlelib|lib2to3|tkinter|turtledemo|ensurepip|pydoc_data)/"


def interpreter(place, suite, own):
    """Python of this suite for this machine, unpacked beside the trees it will compile; the words that start it."""
    tree = f"{place}/python-{suite}"
    apt = debian.Apt(f"{place}/apt", [suite], own)
    apt.update()
    packages = apt.with_dependencies(["python3"])
    if image.stale(tree, packages):
        image.make_tree(packages, tree)
        image.stamp(tree, packages)
    return ["env", f"PYTHONHOME={tree}/usr", *image.foreign(tree, image.python_of(tree))]


def compile_below(words, root, folder):
    """All modules of a folder of a root tree.  What does not compile, such as a template, is left as text."""
    subprocess.run([*words, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-x", LEFT_OUT,
                    "-s", root, "-p", "/", f"{root}/{folder}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    if not any("__pycache__" in folders for _, folders, _ in os.walk(f"{root}/{folder}")):
        raise debian.Missing(f"no module of {folder} could be compiled")
