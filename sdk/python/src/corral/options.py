# SPDX-License-Identifier: Apache-2.0
"""The table of options: one row each, to the option of `corral run` and `corral session create`.

A value never goes through a shell.  An option without a row is an error, and so is a value of another type."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, Optional, TypedDict, Union

from .errors import UsageError
from .result import Level

Command = Union[str, Sequence[Union[str, "os.PathLike[str]"]]]
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Words = Union[str, Sequence[str]]
Ports = Union[str, int, Sequence[Union[str, int]]]
Time = Union[float, str]  # seconds, or a text such as "30s", "2m", "none"
Size = Union[int, str]  # bytes, or a text such as "512M"
Policy = Union[Path, Mapping[str, Any]]  # the path of a policy file, or its content


class Options(TypedDict, total=False):
    """The options of `corral run`; corral(1) describes each."""
    workspace: Path
    any_workspace: bool
    mode: Literal["workspace-write", "read-only", "full-access"]
    read: Paths
    write: Paths
    deny: Paths
    protect: Paths
    cow: bool
    home: Literal["persistent", "ephemeral", "workspace"]
    toolchains: bool
    agent_dir: Path
    cwd: Path
    uid: int
    gid: int
    lock: bool
    lock_wait: Time
    profile: str
    skill: Path
    backend: Literal["auto", "linux", "docker", "podman", "macos", "windows"]
    image: str
    level: Union[Literal["auto"], Level]
    min_level: Level
    require: Words
    allow_degraded: Words
    accept_no_sandbox: bool
    dangerously_allow_full_access: bool
    allow_nested: bool
    allow_command: Words
    denials: Literal["changes", "all", "off"]
    config: bool
    set: Mapping[str, Union[str, int, float, Sequence[str]]]
    net: Literal["none", "filtered", "restricted", "full"]
    allow_host: Words
    deny_host: Words
    allow_private: Words
    proxy: bool
    publish: Ports
    host_port: Ports
    socket: Paths
    pass_env: Words
    allow_dangerous_env: Words
    secret: Words
    agent: str
    tool: Words
    provider: Words
    scan_args: Literal["off", "warn", "block"]
    scan_net: Literal["off", "warn", "block", "kill"]
    scan_output: Literal["off", "warn", "redact", "block", "kill"]
    timeout: Time
    idle_timeout: Time
    grace: Time
    max_output: Size
    memory: Size
    processes: int
    cpus: float
    cpu_time: Time
    open_files: int
    max_file_size: Size
    disk: Size
    tmp_size: Size
    shell: Path


class SessionOptions(Options, total=False):
    name: str
    session_timeout: Time
    serial: bool


def _wrong(name: str, wanted: str) -> NoReturn:
    raise UsageError(f"option {name}: {wanted} expected")


def text(name: str, value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or "\0" in value:
        _wrong(name, "a string without NUL")
    return value


def _quantity(name: str, value: object) -> str:
    if isinstance(value, str):
        return text(name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        _wrong(name, "a string, or a number from 0 on")
    return str(value)


def _list(name: str, value: object) -> list[str]:
    values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else [value]
    return [_quantity(name, one) if isinstance(one, (int, float)) else text(name, one) for one in values]


def _pairs(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _wrong(name, "a mapping")
    return {text(name, key): one for key, one in value.items()}


def _flag(flag: str, name: str, value: object, wanted: bool) -> list[str]:
    if not isinstance(value, bool):
        _wrong(name, "True or False")
    return [flag] if value is wanted else []


def _time(flag: str, name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [f"{flag}={text(name, value)}"]
    return [f"{flag}={round(float(_quantity(name, value)) * 1000)}ms"]


_WORDS: dict[str, Callable[[str, str, object], list[str]]] = {
    "text": lambda flag, name, value: [f"{flag}={text(name, value)}"],
    "flag": lambda flag, name, value: _flag(flag, name, value, True),
    "off": lambda flag, name, value: _flag(flag, name, value, False),
    "list": lambda flag, name, value: [f"{flag}={one}" for one in _list(name, value)],
    "time": _time,
    "number": lambda flag, name, value: [f"{flag}={_quantity(name, value)}"],
    "map": lambda flag, name, value: [f"{flag}={key}={one}" for key, many in _pairs(name, value).items()
                                      for one in _list(name, many)],
}

# Every other option is a text.
_KINDS = {
    "flag": ("any_workspace", "cow", "accept_no_sandbox", "dangerously_allow_full_access", "allow_nested", "proxy", "serial",
             "lock"),
    "off": ("toolchains", "config"),
    "list": ("read", "write", "deny", "protect", "require", "allow_degraded", "allow_command", "allow_host", "deny_host",
             "allow_private", "publish", "host_port", "socket", "pass_env", "allow_dangerous_env", "secret", "provider",
             "tool"),
    "time": ("timeout", "idle_timeout", "grace", "cpu_time", "session_timeout", "lock_wait"),
    "number": ("uid", "gid", "max_output", "memory", "processes", "cpus", "open_files", "max_file_size", "disk", "tmp_size"),
    "map": ("set",),
}
_NAMES = {"toolchains": "--no-toolchains", "config": "--no-config", "cwd": "--chdir"}


def _table(names: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    kind_of = {name: kind for kind, members in _KINDS.items() for name in members}
    return {name: (_NAMES.get(name, f"--{name.replace('_', '-')}"), kind_of.get(name, "text")) for name in names}


OPTIONS = _table(Options.__annotations__)
SESSION_OPTIONS = _table(SessionOptions.__annotations__) | OPTIONS
COMMAND_OPTIONS = {name: OPTIONS[name] for name in ("cwd", "timeout")}


def words(options: Mapping[str, object], table: Mapping[str, tuple[str, str]]) -> list[str]:
    """The words of the command line for these options."""
    line: list[str] = []
    for name, value in options.items():
        if name not in table:
            raise UsageError(f"unknown option {name}")
        flag, kind = table[name]
        if value is not None:
            line += _WORDS[kind](flag, name, value)
    return line


def variables(env: Optional[Mapping[str, str]]) -> dict[str, str]:
    for name in env or {}:
        if not name or "=" in name or "\0" in name:
            raise UsageError(f"option env: {name!r} is not a name")
    return {name: text(f"env.{name}", value) for name, value in (env or {}).items()}


def policy_of(policy: Optional[Policy], env: Optional[Mapping[str, str]]) -> tuple[list[str], Optional[bytes]]:
    """Options, and the policy that Corral reads from a descriptor.

    Variables go this way, because every user of the host can read the arguments of a process; beside a policy file of the
    caller they are options."""
    given = variables(env)
    if policy is not None and not isinstance(policy, Mapping):
        return [f"--policy={text('policy', policy)}", *(f"--env={name}={value}" for name, value in given.items())], None
    document = dict(policy or {})
    if given:
        known = dict(document.get("env", {}))
        document["env"] = {**known, "set": {**known.get("set", {}), **given}}
    return [], json.dumps(document).encode() if document else None


def command_words(command: Command) -> list[str]:
    """The command after the options: a string for the shell of the sandbox, or program and arguments."""
    if isinstance(command, str):
        return ["-c", text("command", command)]
    if not isinstance(command, Sequence) or isinstance(command, bytes) or not command:
        raise UsageError("the command is a string, or a list that is not empty")
    return ["--", *(text("command", word) for word in command)]


def argv_of(command: Command) -> list[str]:
    first, *rest = command_words(command)
    return ["/bin/sh", "-c", *rest] if first == "-c" else rest


def place_of(options: Mapping[str, object], binary: str) -> tuple[dict[str, object], Optional[str], str]:
    """Options, directory and program for `corral`, which starts in the workspace, so that relative paths in options are
    those of the workspace.  If it does not exist, Corral says so."""
    binary = os.path.abspath(binary) if "/" in binary else binary
    if options.get("workspace") is None:
        return dict(options), None, binary
    workspace = os.path.abspath(text("workspace", options["workspace"]))
    return {**options, "workspace": workspace}, workspace if os.path.isdir(workspace) else None, binary
