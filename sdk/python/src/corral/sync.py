# SPDX-License-Identifier: Apache-2.0
"""The sync half: run, spawn, Sandbox and Session."""
from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import IO, Any, Literal, Optional, Union, Unpack, overload

from . import call as calls
from . import daemon, files
from .errors import FileError
from .options import SESSION_OPTIONS, Command, Options, Path, Policy, SessionOptions, argv_of, place_of, policy_of, variables, words
from .result import Result

Input = Union[str, bytes, Iterable[bytes]]


class _Reader(threading.Thread):
    """Reads a stream to its end, so that nobody waits for a full pipe."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.stream, self.data = stream, b""
        self.start()

    def run(self) -> None:
        with self.stream:
            self.data = self.stream.read()

    def text(self) -> bytes:
        self.join()
        return self.data


class Process:
    """A command whose streams are the caller's, like subprocess.Popen.

    Read both, or the command waits when a pipe is full.  As a context manager it kills the command at the end."""

    def __init__(self, call: calls.Call) -> None:
        self._captured = call.captured
        with call.descriptors() as ours:
            self._process = subprocess.Popen(
                call.argv, pass_fds=call.pass_fds, cwd=call.cwd, stdin=subprocess.PIPE if call.stdin else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if call.captured else subprocess.PIPE, stderr=subprocess.PIPE)
        self._channel = ours
        self._result = _Reader(ours.makefile("rb"))
        self._said = _Reader(self._process.stderr) if call.captured and self._process.stderr else None
        self._lock = threading.Lock()
        self.stdin: Optional[IO[bytes]] = self._process.stdin
        self.stdout: Optional[IO[bytes]] = self._process.stdout
        self.stderr: Optional[IO[bytes]] = None if call.captured else self._process.stderr

    @property
    def pid(self) -> int:
        """The process id of the supervisor, which is `corral`."""
        return self._process.pid

    def wait(self, timeout: Optional[float] = None) -> Result[Any]:
        """The result, when every process of the command is gone; subprocess.TimeoutExpired if that takes too long."""
        status = self._process.wait(timeout)
        data = self._result.text()
        said = self._said.text() if self._said else b""
        return calls.judge(status, data, said.decode("utf-8", "replace"))

    def kill(self) -> None:
        """Ends the command and all of its processes: SIGTERM, the grace period, SIGKILL.  Any thread may call it."""
        try:
            self._channel.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has ended

    def feed(self, data: Input) -> threading.Thread:
        """Writes stdin in a thread, and closes it."""
        def work() -> None:
            assert self.stdin is not None
            try:
                with self.stdin as stdin:
                    for chunk in [data.encode() if isinstance(data, str) else data] if isinstance(data, (str, bytes)) else data:
                        stdin.write(chunk)
            except (BrokenPipeError, ValueError):
                pass  # the command does not read it all
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._process.poll() is None:
            self.kill()
            for stream in (self.stdout, self.stderr):  # a command that waits for a reader does not see SIGTERM
                if stream is not None and not stream.closed:
                    _Reader(stream)
        self._process.wait()
        self._result.join()
        self._channel.close()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except OSError:
                    pass  # unwritten input


def _finish(process: Process, data: Optional[Input], binary_output: bool) -> Result[Any]:
    with process:
        if data is not None:
            process.feed(data)
        out = _Reader(process.stdout) if process.stdout is not None else None
        err = _Reader(process.stderr) if process.stderr is not None else None
        result = process.wait()
        if out is not None and err is not None:
            result["stdout"], result["stderr"] = out.text(), err.text()
            if not binary_output:
                result["stdout"] = result["stdout"].decode("utf-8", "replace")
                result["stderr"] = result["stderr"].decode("utf-8", "replace")
        return result


def spawn(command: Command, *, binary: str = "corral", stdin: bool = False, env: Optional[Mapping[str, str]] = None,
          policy: Optional[Policy] = None, **options: Unpack[Options]) -> Process:
    """Starts a command whose streams are the caller's.  A string runs in the shell of the sandbox, a list without one."""
    return Process(calls.run_call(command, binary, options, captured=False, stdin=stdin, env=env, policy=policy))


@overload
def run(command: Command, *, text: Literal[True] = True, binary: str = ..., input: Optional[Input] = ...,
        env: Optional[Mapping[str, str]] = ..., policy: Optional[Policy] = ..., **options: Unpack[Options]) -> Result[str]: ...
@overload
def run(command: Command, *, text: Literal[False], binary: str = ..., input: Optional[Input] = ...,
        env: Optional[Mapping[str, str]] = ..., policy: Optional[Policy] = ..., **options: Unpack[Options]) -> Result[bytes]: ...
def run(command: Command, *, text: bool = True, binary: str = "corral", input: Optional[Input] = None,
        env: Optional[Mapping[str, str]] = None, policy: Optional[Policy] = None, **options: Unpack[Options]) -> Result[Any]:
    """Runs a command and waits for its result.  With text=False stdout and stderr are bytes, all of them."""
    call = calls.run_call(command, binary, options, captured=text, stdin=input is not None, env=env, policy=policy)
    return _finish(Process(call), input, not text)


class _Files:
    """File operations, with the access of a command."""

    def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        raise NotImplementedError

    def _file(self, script: files.Script, path: Path, data: Optional[Input] = None) -> bytes:
        name = os.fspath(path)
        return files.output(name, self._bytes(files.argv(script, name), data))

    def read_bytes(self, path: Path) -> bytes:
        return self._file("read", path)

    def read_text(self, path: Path, encoding: str = "utf-8") -> str:
        return self._file("read", path).decode(encoding)

    def write_file(self, path: Path, content: Input) -> None:
        """Creates missing directories."""
        self._file("write", path, content)

    def stat(self, path: Path) -> files.FileStat:
        """Follows symbolic links."""
        return files.stat_of(self._file("stat", path))

    def exists(self, path: Path) -> bool:
        try:
            self.stat(path)
        except FileError:
            return False
        return True

    def list_directory(self, path: Path) -> list[files.DirectoryEntry]:
        return files.entries_of(self._file("list", path))

    def remove_file(self, path: Path) -> None:
        self._file("remove", path)

    def make_directory(self, path: Path) -> None:
        self._file("mkdir", path)


class Sandbox(_Files):
    """Options for many runs.  Each command has a sandbox of its own; the workspace is what they share."""

    def __init__(self, *, binary: str = "corral", env: Optional[Mapping[str, str]] = None, policy: Optional[Policy] = None,
                 **options: Unpack[Options]) -> None:
        self._binary, self._env, self._policy, self._options = binary, dict(env or {}), policy, options
        calls.run_call("true", binary, options, captured=True, stdin=False, env=env, policy=policy)  # checks them

    @overload
    def run(self, command: Command, *, text: Literal[True] = True, input: Optional[Input] = ...,
            env: Optional[Mapping[str, str]] = ..., **options: Unpack[Options]) -> Result[str]: ...
    @overload
    def run(self, command: Command, *, text: Literal[False], input: Optional[Input] = ...,
            env: Optional[Mapping[str, str]] = ..., **options: Unpack[Options]) -> Result[bytes]: ...
    def run(self, command: Command, *, text: bool = True, input: Optional[Input] = None,
            env: Optional[Mapping[str, str]] = None, **options: Unpack[Options]) -> Result[Any]:
        call = calls.run_call(command, self._binary, {**self._options, **options}, captured=text, stdin=input is not None,
                              env={**self._env, **(env or {})}, policy=self._policy)
        return _finish(Process(call), input, not text)

    def spawn(self, command: Command, *, stdin: bool = False, env: Optional[Mapping[str, str]] = None,
              **options: Unpack[Options]) -> Process:
        return Process(calls.run_call(command, self._binary, {**self._options, **options}, captured=False, stdin=stdin,
                                      env={**self._env, **(env or {})}, policy=self._policy))

    def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        return self.run(argv, text=False, input=data)


class Session(_Files):
    """A session of the daemon: one sandbox for many commands.

    Made by create() or attach().  They share /tmp, HOME and background processes.  As a context manager it is stopped at the end."""

    def __init__(self, session: str, binary: str) -> None:
        self._binary = binary
        self.id = session

    @classmethod
    def attach(cls, session: str, *, binary: str = "corral") -> Session:
        """The session with this id or name."""
        return cls(daemon.request("session.show", {"session": session})["id"], binary)

    @classmethod
    def create(cls, *, binary: str = "corral", env: Optional[Mapping[str, str]] = None, policy: Optional[Policy] = None,
               **options: Unpack[SessionOptions]) -> Session:
        """A new session; needs the daemon: `corral daemon`."""
        more, document = policy_of(policy, env)
        given, cwd, binary = place_of(options, binary)
        argv = [binary, "session", "create", "--json", *words(given, SESSION_OPTIONS), *more]
        with calls.document_file(document) as policy_words:
            try:
                done = subprocess.run([*argv, *policy_words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            except OSError as error:
                raise calls.not_started(binary, error) from error
        return cls(calls.judge_answer(done.returncode, done.stdout, done.stderr)["id"], binary)

    @overload
    def run(self, command: Command, *, text: Literal[True] = True, input: Optional[Input] = ..., cwd: Optional[Path] = ...,
            timeout: Optional[float] = ..., env: Optional[Mapping[str, str]] = ...) -> Result[str]: ...
    @overload
    def run(self, command: Command, *, text: Literal[False], input: Optional[Input] = ..., cwd: Optional[Path] = ...,
            timeout: Optional[float] = ..., env: Optional[Mapping[str, str]] = ...) -> Result[bytes]: ...
    def run(self, command: Command, *, text: bool = True, input: Optional[Input] = None, cwd: Optional[Path] = None,
            timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> Result[Any]:
        if text and input is None:
            params = daemon.exec_params(self.id, argv_of(command), cwd, timeout, variables(env))
            return daemon.request("session.exec", params)["result"]  # type: ignore[no-any-return]
        return _finish(self.spawn(command, stdin=input is not None, cwd=cwd, timeout=timeout, env=env), input, not text)

    def spawn(self, command: Command, *, stdin: bool = False, cwd: Optional[Path] = None, timeout: Optional[float] = None,
              env: Optional[Mapping[str, str]] = None) -> Process:
        return Process(calls.exec_call(self.id, command, self._binary, {"cwd": cwd, "timeout": timeout}, stdin=stdin, env=env))

    def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        return self.run(argv, text=False, input=data)

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = daemon.request("session.show", {"session": self.id})
        return shown

    def stop(self) -> None:
        """Ends every process of the session."""
        daemon.request("session.stop", {"session": self.id})

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self.show()["state"] not in ("STOPPED", "FAILED"):
            self.stop()
