# SPDX-License-Identifier: Apache-2.0
"""File operations: fixed scripts in the sandbox, so they have exactly the access of a command.

A path is an argument of the script, never part of its text."""
from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import Literal

from .errors import FileError
from .result import Result

_STATUSES = {
    70: ("ENOENT", "there is no such file"),
    71: ("EISDIR", "it is a directory"),
    72: ("EACCES", "the sandbox does not permit it"),
    73: ("ENOTDIR", "it is not a directory"),
}
_EXISTS = '[ -e "$1" ] || [ -L "$1" ] || exit 70; '
_SCRIPTS = {
    "read": _EXISTS + '[ -d "$1" ] && exit 71; [ -r "$1" ] || exit 72; exec cat <"$1"',
    "write": '[ -d "$1" ] && exit 71; case "$1" in */*) mkdir -p -- "${1%/*}/" || exit 72;; esac; '
             'command exec 3>"$1" || exit 72; exec cat >&3',
    "stat": _EXISTS + "exec stat -L -c '%f %s %Y' -- \"$1\"",
    "list": _EXISTS + '[ -d "$1" ] || exit 73; cd -- "$1" || exit 72; '
            "exec find . -mindepth 1 -maxdepth 1 -exec stat -c '//%f %s %Y %n' -- '{}' +",
    "remove": _EXISTS + '[ -d "$1" ] && [ ! -L "$1" ] && exit 71; rm -- "$1" || exit 72',
    "mkdir": 'mkdir -p -- "$1" || exit 72',
}
Script = Literal["read", "write", "stat", "list", "remove", "mkdir"]
Type = Literal["file", "directory", "symlink", "other"]
_TYPES: dict[int, Type] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


@dataclass(frozen=True)
class FileStat:
    type: Type
    size: int
    mode: int
    modified: int


@dataclass(frozen=True)
class DirectoryEntry(FileStat):
    name: str


def argv(script: Script, path: str) -> list[str]:
    return ["/bin/sh", "-c", _SCRIPTS[script], "sh", f"./{path}" if path.startswith("-") else path]


def output(path: str, done: Result[bytes]) -> bytes:
    if done["exit_code"] == 0:
        return done["stdout"]
    code, why = _STATUSES.get(done["exit_code"] or -1, ("EIO", "it failed"))
    raise FileError(code, path, done["stderr"].decode("utf-8", "replace").strip() or why)


def _fields(text: str) -> tuple[Type, int, int, int]:
    """Of "MODE SIZE SECONDS", the mode in hexadecimal digits."""
    mode, size, seconds = text.split()
    bits = int(mode, 16)
    return _TYPES.get(stat.S_IFMT(bits), "other"), int(size), stat.S_IMODE(bits), int(seconds)


def stat_of(data: bytes) -> FileStat:
    return FileStat(*_fields(data.decode()))


def entries_of(data: bytes) -> list[DirectoryEntry]:
    """A record begins with "//", which no file name contains."""
    if not data:
        return []
    records = data.decode("utf-8", "surrogateescape")[2:-1].split("\n//")
    return [DirectoryEntry(*_fields(head), name) for head, _, name in (record.partition(" ./") for record in records)]
