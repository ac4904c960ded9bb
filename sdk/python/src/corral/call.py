# SPDX-License-Identifier: Apache-2.0
"""What the sync and the async half share: the arguments of `corral`, its descriptors, and the judgement of its end.

The result comes over a socket.  The run ends when this program shuts it down or ends, also by SIGKILL."""
from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from . import options as table
from .errors import BinaryNotFoundError, CancelledError, CorralError, RefusedError, SetupError, UsageError
from .result import Result

USAGE_STATUS = 2
CANCELLED = "cancelled by the caller"  # the message of `corral session exec`


@dataclass
class Call:
    """One process of `corral`."""
    binary: str
    words: list[str]
    command: list[str]
    document: Optional[bytes] = None
    captured: bool = False
    stdin: bool = False
    cwd: Optional[str] = None
    pass_fds: list[int] = field(default_factory=list)
    argv: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def descriptors(self) -> Iterator[socket.socket]:
        """Fills argv and pass_fds; gives our end of the socket.  The other end and the policy are closed afterwards."""
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as stack:
            stack.callback(theirs.close)
            self.pass_fds = [theirs.fileno()]
            more = [f"--result-fd={theirs.fileno()}"]
            if self.document is not None:
                fd, words = document_descriptor(self.document)
                stack.callback(os.close, fd)
                self.pass_fds.append(fd)
                more += words
            self.argv = [self.binary, *self.words, *more, *self.command]
            try:
                yield ours
            except OSError as error:
                ours.close()
                raise not_started(self.binary, error) from error
            except BaseException:
                ours.close()
                raise


def document_descriptor(document: bytes) -> tuple[int, list[str]]:
    """A descriptor from which Corral reads the policy; no name in any directory."""
    fd = os.memfd_create("corral-policy")
    os.write(fd, document)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd, [f"--policy=fd:{fd}"]


@contextlib.contextmanager
def document_file(document: Optional[bytes]) -> Iterator[list[str]]:
    """The policy in a file that only this user can read: the daemon reads it, and then it is removed."""
    if document is None:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="corral-") as directory:
        path = f"{directory}/policy.json"
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(document)
        yield [f"--policy={path}"]


def run_call(command: table.Command, binary: str, options: Mapping[str, object], *, captured: bool, stdin: bool,
             env: Optional[Mapping[str, str]], policy: Optional[table.Policy]) -> Call:
    more, document = table.policy_of(policy, env)
    options, cwd, binary = table.place_of(options, binary)
    line = ["run", *(["--json"] if captured else []), *(["--stdin"] if captured and stdin else []),
            *table.words(options, table.OPTIONS), *more]
    return Call(binary, line, table.command_words(command), document, captured, stdin, cwd)


def exec_call(session: str, command: table.Command, binary: str, options: Mapping[str, object], *, stdin: bool,
              env: Optional[Mapping[str, str]]) -> Call:
    given = [f"{name}={value}" for name, value in table.variables(env).items()]
    argv = table.argv_of(command)
    return Call(binary, ["session", "exec", *table.words(options, table.COMMAND_OPTIONS)],
                [*(f"--env={variable}" for variable in given), session, "--", *argv], stdin=stdin)


def not_started(binary: str, error: OSError) -> CorralError:
    if isinstance(error, (FileNotFoundError, PermissionError)):
        return BinaryNotFoundError(f"cannot start {binary}: {error.strerror}",
                                   remedy="install Corral, or pass the argument binary")
    return SetupError(f"cannot start {binary}: {error.strerror}")


def judge(status: int, data: bytes, said: str) -> Result[Any]:
    """The result of a command that ran; an error if none did."""
    if not data:
        message = said.strip() or f"corral ended with {status} and no result"
        raise UsageError(message) if status == USAGE_STATUS else SetupError(message)
    result: Result[Any] = json.loads(data)
    failure = result.get("error")
    if failure is None:
        return result
    if failure["message"] == CANCELLED:
        raise CancelledError(failure["message"], result=result)
    kind = SetupError if result["reason"] == "setup" else RefusedError
    raise kind(failure["message"], remedy=failure["remedy"], layer=failure["layer"], result=result)


def judge_answer(status: int, out: bytes, said: bytes) -> Any:
    """The object that a verb printed."""
    if status != 0:
        message = said.decode("utf-8", "replace").strip() or f"corral ended with {status}"
        raise UsageError(message) if status == USAGE_STATUS else SetupError(message)
    return json.loads(out)
