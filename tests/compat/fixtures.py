# SPDX-License-Identifier: Apache-2.0
"""What rows find in their workspace: small projects, made once a run and copied.

A fixture is a function that fills a directory, in the table FIXTURES of a module
fixtures_*.py beside this one, or a directory of that name in fixtures/.
"""
import glob
import importlib
import os
import shutil
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = sorted(os.path.basename(path)[:-3] for path in glob.glob(f"{HERE}/fixtures_*.py"))
TABLE = {name: make for module in MODULES for name, make in importlib.import_module(module).FIXTURES.items()}


class Fixtures:
    """The fixtures that this run has needed so far."""

    def __init__(self, top):
        self.top = top
        self.lock = threading.Lock()

    def source(self, name):
        """The directory to copy from, made when it is asked for first."""
        if name not in TABLE:
            return os.path.join(HERE, "fixtures", name)
        path = os.path.join(self.top, name)
        with self.lock:
            if not os.path.isdir(path):
                begun = f"{path}.begun"
                shutil.rmtree(begun, ignore_errors=True)
                os.mkdir(begun)
                TABLE[name](begun)
                os.rename(begun, path)
        return path

    def copy(self, name, target):
        # cp keeps links, modes and times, which shutil.copytree does not all do.
        subprocess.run(["cp", "-a", "--no-preserve=ownership", f"{self.source(name)}/.", target], check=True)
