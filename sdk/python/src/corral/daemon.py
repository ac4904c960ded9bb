# SPDX-License-Identifier: Apache-2.0
"""Requests to the daemon: JSON-RPC 2.0, one object a line, one connection for each request."""
from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

from .errors import CorralError, DaemonError, RefusedError, SetupError, UsageError

_START = "start it: corral daemon &"
_KINDS: dict[int, type[CorralError]] = {1: UsageError, 2: RefusedError, 14: RefusedError}  # enum corral_error_kind
LINE_MAX = 1 << 26


def socket_path() -> str:
    """The path of the admin socket, found as Corral does."""
    given, user = os.environ.get("XDG_RUNTIME_DIR", ""), os.geteuid()
    if given.startswith("/"):
        return f"{given}/corral/admin.sock"
    if os.path.isdir(f"/run/user/{user}"):
        return f"/run/user/{user}/corral/admin.sock"
    if user == 0:
        return "/run/corral/admin.sock"
    raise DaemonError(f"XDG_RUNTIME_DIR is not set, and /run/user/{user} does not exist", remedy="export XDG_RUNTIME_DIR")


def unreachable(error: OSError) -> DaemonError:
    return DaemonError(f"cannot connect to the daemon: {error.strerror or error}", remedy=_START)


def check_peer(connection: socket.socket) -> None:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if uid != os.geteuid():
        raise DaemonError("the daemon on this socket is another user's", remedy="check XDG_RUNTIME_DIR")


def encode(method: str, params: Mapping[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def decode(line: bytes) -> Any:
    if not line.endswith(b"\n"):
        raise DaemonError("the daemon closed the connection", remedy="corral daemon status")
    answer = json.loads(line)
    error = answer.get("error")
    if error is None:
        return answer["result"]
    data = error.get("data") or {}
    kind = _KINDS.get(data.get("error", 0), SetupError) if data.get("kind") == "failed" else DaemonError
    raise kind(error["message"], remedy=data.get("remedy"), layer=data.get("layer"))


def request(method: str, params: Mapping[str, object]) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(socket_path())
        except OSError as error:
            raise unreachable(error) from error
        check_peer(connection)
        connection.sendall(encode(method, params))
        with connection.makefile("rb") as lines:
            return decode(lines.readline(LINE_MAX))


def exec_params(session: str, argv: list[str], cwd: object, timeout: object, env: Mapping[str, str]) -> dict[str, object]:
    params: dict[str, object] = {"session": session, "argv": argv, "streams": "capture"}
    if cwd is not None:
        params["cwd"] = os.fspath(cwd) if isinstance(cwd, os.PathLike) else cwd
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
            raise UsageError("option timeout: in a session, a number of seconds expected")
        params["timeout_ms"] = max(1, round(timeout * 1000))
    if env:
        params["environment"] = dict(env)
    return params
