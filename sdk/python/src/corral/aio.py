# SPDX-License-Identifier: Apache-2.0
"""The async half: the same surface for asyncio.  A task that is cancelled ends its command and all of its processes."""
from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterable, Mapping
from types import TracebackType
from typing import Any, Literal, Optional, Union, Unpack, overload

from . import call as calls
from . import daemon, files
from .errors import FileError
from .options import SESSION_OPTIONS, Command, Options, Path, Policy, SessionOptions, argv_of, place_of, policy_of, variables, words
from .result import Result

Input = Union[str, bytes, AsyncIterable[bytes]]
_LIMIT = 1 << 16
_FEED_SECONDS = 1


class Process:
    """A command whose streams are the caller's; made by spawn().  Read both, or the command waits when a pipe is full."""

    def __init__(self, process: asyncio.subprocess.Process, channel: socket.socket, captured: bool) -> None:
        self._process, self._channel = process, channel
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = None if captured else process.stderr
        self._result = asyncio.ensure_future(self._receive())
        self._said = asyncio.ensure_future(process.stderr.read()) if captured and process.stderr is not None else None

    @classmethod
    async def start(cls, call: calls.Call) -> Process:
        null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        with call.descriptors() as ours:
            process = await asyncio.create_subprocess_exec(
                *call.argv, pass_fds=call.pass_fds, cwd=call.cwd, stdin=pipe if call.stdin else null,
                stdout=null if call.captured else pipe, stderr=pipe)
        return cls(process, ours, call.captured)

    @property
    def pid(self) -> int:
        """The process id of the supervisor, which is `corral`."""
        return self._process.pid

    async def _receive(self) -> bytes:
        loop, data = asyncio.get_running_loop(), bytearray()
        self._channel.setblocking(False)
        while chunk := await loop.sock_recv(self._channel, _LIMIT):
            data += chunk
        return bytes(data)

    async def wait(self) -> Result[Any]:
        """The result, when every process of the command is gone."""
        # A cancelled wait() leaves the reading to the next one.
        data = await asyncio.shield(self._result)
        said = await asyncio.shield(self._said) if self._said is not None else b""
        return calls.judge(await self._process.wait(), data, said.decode("utf-8", "replace"))

    def kill(self) -> None:
        """Ends the command and all of its processes: SIGTERM, the grace period, SIGKILL."""
        with contextlib.suppress(OSError):  # it has ended
            self._channel.shutdown(socket.SHUT_WR)

    async def feed(self, data: Input) -> None:
        """Writes stdin, and closes it."""
        assert self.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the command does not read it all
            if isinstance(data, (str, bytes)):
                self.stdin.write(data.encode() if isinstance(data, str) else data)
            else:
                async for chunk in data:
                    self.stdin.write(chunk)
                    await self.stdin.drain()
            await self.stdin.drain()
            self.stdin.close()

    async def close(self) -> None:
        """Kills the command, if it runs, and waits until it is gone."""
        self.kill()
        rest = [stream.read() for stream in (self.stdout, self.stderr) if stream is not None]
        await asyncio.gather(self._result, self._process.wait(), *rest, return_exceptions=True)
        self._channel.close()

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await asyncio.shield(self.close())


async def _finish(call: calls.Call, data: Optional[Input], binary_output: bool) -> Result[Any]:
    async with await Process.start(call) as process:
        feeding = asyncio.ensure_future(process.feed(data)) if data is not None else None
        try:
            out, err, result = await asyncio.gather(process.stdout.read() if process.stdout else _nothing(),
                                                    process.stderr.read() if process.stderr else _nothing(), process.wait())
        finally:
            process.kill()  # it has ended, or this task is cancelled
            if feeding is not None:
                await asyncio.wait({feeding}, timeout=_FEED_SECONDS)  # its pipe is closed: only the input can wait
                feeding.cancel()
        done: Result[Any] = result
        if not call.captured:
            done["stdout"] = out if binary_output else out.decode("utf-8", "replace")
            done["stderr"] = err if binary_output else err.decode("utf-8", "replace")
        return done


async def _nothing() -> bytes:
    return b""


async def spawn(command: Command, *, binary: str = "corral", stdin: bool = False, env: Optional[Mapping[str, str]] = None,
                policy: Optional[Policy] = None, **options: Unpack[Options]) -> Process:
    """Starts a command whose streams are the caller's.  A string runs in the shell of the sandbox, a list without one."""
    return await Process.start(calls.run_call(command, binary, options, captured=False, stdin=stdin, env=env, policy=policy))


@overload
async def run(command: Command, *, text: Literal[True] = True, binary: str = ..., input: Optional[Input] = ...,
              env: Optional[Mapping[str, str]] = ..., policy: Optional[Policy] = ...,
              **options: Unpack[Options]) -> Result[str]: ...
@overload
async def run(command: Command, *, text: Literal[False], binary: str = ..., input: Optional[Input] = ...,
              env: Optional[Mapping[str, str]] = ..., policy: Optional[Policy] = ...,
              **options: Unpack[Options]) -> Result[bytes]: ...
async def run(command: Command, *, text: bool = True, binary: str = "corral", input: Optional[Input] = None,
              env: Optional[Mapping[str, str]] = None, policy: Optional[Policy] = None,
              **options: Unpack[Options]) -> Result[Any]:
    """Runs a command and waits for its result.  With text=False stdout and stderr are bytes, all of them."""
    call = calls.run_call(command, binary, options, captured=text, stdin=input is not None, env=env, policy=policy)
    return await _finish(call, input, not text)


class _Files:
    """File operations, with the access of a command."""

    async def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        raise NotImplementedError

    async def _file(self, script: files.Script, path: Path, data: Optional[Input] = None) -> bytes:
        name = os.fspath(path)
        return files.output(name, await self._bytes(files.argv(script, name), data))

    async def read_bytes(self, path: Path) -> bytes:
        return await self._file("read", path)

    async def read_text(self, path: Path, encoding: str = "utf-8") -> str:
        return (await self._file("read", path)).decode(encoding)

    async def write_file(self, path: Path, content: Input) -> None:
        """Creates missing directories."""
        await self._file("write", path, content)

    async def stat(self, path: Path) -> files.FileStat:
        """Follows symbolic links."""
        return files.stat_of(await self._file("stat", path))

    async def exists(self, path: Path) -> bool:
        try:
            await self.stat(path)
        except FileError:
            return False
        return True

    async def list_directory(self, path: Path) -> list[files.DirectoryEntry]:
        return files.entries_of(await self._file("list", path))

    async def remove_file(self, path: Path) -> None:
        await self._file("remove", path)

    async def make_directory(self, path: Path) -> None:
        await self._file("mkdir", path)


class Sandbox(_Files):
    """Options for many runs.  Each command has a sandbox of its own; the workspace is what they share."""

    def __init__(self, *, binary: str = "corral", env: Optional[Mapping[str, str]] = None, policy: Optional[Policy] = None,
                 **options: Unpack[Options]) -> None:
        self._binary, self._env, self._policy, self._options = binary, dict(env or {}), policy, options
        self._call("true", {}, captured=True, stdin=False, env=None)  # checks them

    def _call(self, command: Command, options: Mapping[str, object], *, captured: bool, stdin: bool,
              env: Optional[Mapping[str, str]]) -> calls.Call:
        return calls.run_call(command, self._binary, {**self._options, **options}, captured=captured, stdin=stdin,
                              env={**self._env, **(env or {})}, policy=self._policy)

    @overload
    async def run(self, command: Command, *, text: Literal[True] = True, input: Optional[Input] = ...,
                  env: Optional[Mapping[str, str]] = ..., **options: Unpack[Options]) -> Result[str]: ...
    @overload
    async def run(self, command: Command, *, text: Literal[False], input: Optional[Input] = ...,
                  env: Optional[Mapping[str, str]] = ..., **options: Unpack[Options]) -> Result[bytes]: ...
    async def run(self, command: Command, *, text: bool = True, input: Optional[Input] = None,
                  env: Optional[Mapping[str, str]] = None, **options: Unpack[Options]) -> Result[Any]:
        return await _finish(self._call(command, options, captured=text, stdin=input is not None, env=env), input, not text)

    async def spawn(self, command: Command, *, stdin: bool = False, env: Optional[Mapping[str, str]] = None,
                    **options: Unpack[Options]) -> Process:
        return await Process.start(self._call(command, options, captured=False, stdin=stdin, env=env))

    async def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        return await self.run(argv, text=False, input=data)


async def _request(method: str, params: Mapping[str, object]) -> Any:
    """A task that is cancelled closes the connection, and the daemon kills the command."""
    try:
        reader, writer = await asyncio.open_unix_connection(daemon.socket_path(), limit=daemon.LINE_MAX)
    except OSError as error:
        raise daemon.unreachable(error) from error
    try:
        daemon.check_peer(writer.get_extra_info("socket"))
        writer.write(daemon.encode(method, params))
        await writer.drain()
        return daemon.decode(await reader.readline())
    finally:
        writer.close()


class Session(_Files):
    """A session of the daemon: one sandbox for many commands; made by create() or attach()."""

    def __init__(self, session: str, binary: str) -> None:
        self._binary = binary
        self.id = session

    @classmethod
    async def attach(cls, session: str, *, binary: str = "corral") -> Session:
        return cls((await _request("session.show", {"session": session}))["id"], binary)

    @classmethod
    async def create(cls, *, binary: str = "corral", env: Optional[Mapping[str, str]] = None,
                     policy: Optional[Policy] = None, **options: Unpack[SessionOptions]) -> Session:
        """A new session; needs the daemon: `corral daemon`."""
        more, document = policy_of(policy, env)
        given, cwd, binary = place_of(options, binary)
        argv, pipe = ["session", "create", "--json", *words(given, SESSION_OPTIONS), *more], asyncio.subprocess.PIPE
        with calls.document_file(document) as policy_words:
            try:
                process = await asyncio.create_subprocess_exec(binary, *argv, *policy_words, cwd=cwd, stdout=pipe,
                                                               stdin=asyncio.subprocess.DEVNULL, stderr=pipe)
            except OSError as error:
                raise calls.not_started(binary, error) from error
            out, said = await process.communicate()
        return cls(calls.judge_answer(process.returncode or 0, out, said)["id"], binary)

    @overload
    async def run(self, command: Command, *, text: Literal[True] = True, input: Optional[Input] = ...,
                  cwd: Optional[Path] = ..., timeout: Optional[float] = ...,
                  env: Optional[Mapping[str, str]] = ...) -> Result[str]: ...
    @overload
    async def run(self, command: Command, *, text: Literal[False], input: Optional[Input] = ..., cwd: Optional[Path] = ...,
                  timeout: Optional[float] = ..., env: Optional[Mapping[str, str]] = ...) -> Result[bytes]: ...
    async def run(self, command: Command, *, text: bool = True, input: Optional[Input] = None, cwd: Optional[Path] = None,
                  timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> Result[Any]:
        if text and input is None:
            params = daemon.exec_params(self.id, argv_of(command), cwd, timeout, variables(env))
            return (await _request("session.exec", params))["result"]  # type: ignore[no-any-return]
        return await _finish(self._call(command, input is not None, cwd, timeout, env), input, not text)

    def _call(self, command: Command, stdin: bool, cwd: Optional[Path], timeout: Optional[float],
              env: Optional[Mapping[str, str]]) -> calls.Call:
        return calls.exec_call(self.id, command, self._binary, {"cwd": cwd, "timeout": timeout}, stdin=stdin, env=env)

    async def spawn(self, command: Command, *, stdin: bool = False, cwd: Optional[Path] = None,
                    timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> Process:
        return await Process.start(self._call(command, stdin, cwd, timeout, env))

    async def _bytes(self, argv: list[str], data: Optional[Input]) -> Result[bytes]:
        return await self.run(argv, text=False, input=data)

    async def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = await _request("session.show", {"session": self.id})
        return shown

    async def stop(self) -> None:
        """Ends every process of the session."""
        await _request("session.stop", {"session": self.id})

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if (await self.show())["state"] not in ("STOPPED", "FAILED"):
            await self.stop()
