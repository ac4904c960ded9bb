# SPDX-License-Identifier: Apache-2.0
"""The result of a command: the object that corral(1) describes under THE RESULT."""
from __future__ import annotations

from typing import Any, Generic, Literal, NotRequired, Optional, TypedDict, TypeVar, Union

Level = Literal["full", "standard", "minimal", "none"]
Reason = Literal["exit", "signal", "timeout", "idle", "oom", "limit", "cancelled", "leak", "lost", "refused", "setup"]
Output = TypeVar("Output", bound=Union[str, bytes, None])


class Guarantee(TypedDict):
    name: str
    state: Literal["enforced", "weaker", "absent"]
    by: list[str]
    why: NotRequired[str]


class Denial(TypedDict):
    """A refused operation, with path, or host and port, or command, or limit and value, or a system call."""
    op: str
    path: NotRequired[str]
    resolved: NotRequired[str]
    host: NotRequired[str]
    port: NotRequired[Optional[int]]
    command: NotRequired[str]
    limit: NotRequired[str]
    value: NotRequired[Optional[str]]
    access: str
    errno: Optional[str]
    rule: Optional[str]
    origin: Optional[str]
    why: Optional[str]
    remedy: Optional[str]
    allow_with: Optional[str]
    count: int


class Grant(TypedDict):
    op: str
    path: NotRequired[str]
    host: NotRequired[str]
    answer: Literal["once", "run", "always", "deny"]
    by: Literal["user", "timeout", "ended", "error"]
    grant: Optional[str]
    waited_ms: int
    count: int
    note: Optional[str]


class Leak(TypedDict):
    kind: str
    stream: str
    offset: int
    length: int
    view: str
    fingerprint: str
    action: str
    count: int
    host: NotRequired[str]


class NetworkRecord(TypedDict):
    op: str
    name: Optional[str]
    address: Optional[str]
    port: Optional[int]
    verdict: str
    rule: Optional[str]
    why: Optional[str]
    count: int
    sent: int
    received: int


class Truncated(TypedDict):
    stdout: int
    stderr: int


class Hint(TypedDict):
    rule: str
    path: Optional[str]
    text: str


class Created(TypedDict):
    path: str
    kind: str


class Cow(TypedDict):
    id: Optional[str]
    changes: Optional[int]


class LeftInHome(TypedDict):
    path: str
    names: list[str]
    more: int


class Usage(TypedDict):
    cpu_ms: Optional[int]
    max_rss_kb: Optional[int]
    processes_peak: Optional[int]


class Timing(TypedDict):
    step: str
    us: int


class Failure(TypedDict):
    layer: str
    message: str
    errno: Optional[str]
    remedy: Optional[str]


class Result(TypedDict, Generic[Output]):
    version: int
    reason: Reason
    exit_code: Optional[int]
    signal: Optional[int]
    duration_ms: int
    stdout: Output
    stderr: Output
    truncated: Truncated
    id: Optional[str]
    started: Optional[str]
    workspace: Optional[str]
    mode: Optional[str]
    net: Optional[str]
    agent: Optional[str]
    session: Optional[str]
    level: Optional[Level]
    engine: Optional[str]
    depth: Optional[int]
    policy_sha256: Optional[str]
    warm: bool
    guarantees: list[Guarantee]
    notes: list[str]
    hint: Optional[Hint]
    denials: list[Denial]
    denials_more: int
    denials_recorded: bool
    grants: Optional[list[Grant]]
    grants_more: NotRequired[int]
    grants_ended: NotRequired[Optional[str]]
    leaks: list[Leak]
    leaks_more: int
    leaks_scanned: bool
    network: list[NetworkRecord]
    network_more: int
    network_recorded: bool
    network_failed: Optional[str]
    created: list[Created]
    created_more: int
    created_recorded: bool
    cow: Optional[Cow]
    left_in_home: Optional[LeftInHome]
    usage: Usage
    audited: bool
    timings: Optional[list[Timing]]
    error: NotRequired[Failure]


_ENDINGS = {
    "timeout": "ended by the time-out", "idle": "ended by the time-out without output", "oom": "ended by the memory limit",
    "limit": "ended by a limit", "leak": "ended because of a secret in the output",
    "lost": "ended: a process of the sandbox was killed", "cancelled": "cancelled",
}


def _line(denial: Denial) -> str:
    place = denial.get("path") or denial.get("host") or denial.get("command") or denial.get("limit") or ""
    port = denial.get("port")
    remedy = denial["remedy"] or denial["allow_with"]
    why = denial["why"] or denial["rule"] or "no rule allows it"
    return f"corral: refused: {denial['op']} {place}{'' if port is None else f':{port}'}: {why}{f'; {remedy}' if remedy else ''}\n"


def explain(result: Result[Any]) -> str:
    """How the run ended, its refusals and the hint, in lines for a model or a log; "" if there is nothing to say."""
    lines = [f"corral: {_ENDINGS[result['reason']]}\n"] if result["reason"] in _ENDINGS else []
    lines += map(_line, result["denials"])
    if result["denials_more"] > 0:
        lines.append(f"corral: refused: {result['denials_more']} more\n")
    if result["hint"] is not None:
        lines.append(f"corral: hint: {result['hint']['text']}\n")
    return "".join(lines)
