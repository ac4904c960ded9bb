# SPDX-License-Identifier: Apache-2.0
"""The errors of this package.  A command that ran and failed is no error: it is a result."""
from __future__ import annotations

from typing import Any, Optional

from .result import Result


class CorralError(Exception):
    """Base of all; `remedy` is the command or option that solves it, `layer` the part of Corral that failed."""

    def __init__(self, message: str, *, remedy: Optional[str] = None, layer: Optional[str] = None,
                 result: Optional[Result[Any]] = None) -> None:
        super().__init__(f"{message} (remedy: {remedy})" if remedy else message)
        self.remedy = remedy or None
        self.layer = layer
        self.result = result


class BinaryNotFoundError(CorralError):
    """The program `corral` is not in PATH, or not at the given path."""


class UsageError(CorralError):
    """An option or argument is wrong; nothing ran."""


class RefusedError(CorralError):
    """A rule forbids the command, or its arguments contain a secret; nothing ran."""


class SetupError(CorralError):
    """The sandbox could not be set up, or the program does not exist in it; nothing ran."""


class DaemonError(CorralError):
    """The daemon does not run, or does not know the session."""


class CancelledError(CorralError):
    """kill() ended the command of a session before it had a result."""


class FileError(CorralError):
    """A file operation in the sandbox failed; `code` is ENOENT, EISDIR, ENOTDIR, EACCES or EIO."""

    def __init__(self, code: str, path: str, text: str) -> None:
        super().__init__(f"{code}: {path}: {text}")
        self.code = code
        self.path = path
