# SPDX-License-Identifier: Apache-2.0
"""Run commands in a Corral sandbox.  corral.aio has the same surface for asyncio."""
from .errors import (BinaryNotFoundError, CancelledError, CorralError, DaemonError, FileError, RefusedError, SetupError,
                     UsageError)
from .files import DirectoryEntry, FileStat
from .options import Options, SessionOptions
from .result import Denial, Guarantee, Result, explain
from .sync import Process, Sandbox, Session, run, spawn

__all__ = [
    "BinaryNotFoundError", "CancelledError", "CorralError", "DaemonError", "Denial", "DirectoryEntry", "FileError", "FileStat",
    "Guarantee", "Options", "Process", "RefusedError", "Result", "Sandbox", "Session", "SessionOptions", "SetupError",
    "UsageError", "explain", "run", "spawn",
]
