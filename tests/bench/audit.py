# SPDX-License-Identifier: Apache-2.0
"""The readers of the audit log on a million records: seconds of processor time, and memory.

The log is generated, with a valid hash chain and head; the page cache is warm.
"""
import datetime
import hashlib
import json
import os
import random
import shutil
import statistics

from page import Table

NAME, TITLE = "audit", "Readers of the audit log"
ABOUT = "Processor time, and the peak of memory, on a generated log with a warm page cache."
FILE_MAX = 16 * 1024 * 1024
HEAD_AT = 8 * 1024 * 1024
ALPHABET = "0123456789abcdefghjkmnpqrstuvwxyz"
COMMANDS = (["npm", "test"], ["git", "status", "--short"], ["make", "-j2", "check"], ["/bin/true"],
            ["sh", "-c", "for f in src/*.c; do grep -n \"main\" \"$f\"; done | sort | uniq -c"],
            ["python3", "-m", "pytest", "-q", "tests/unit"], ["cargo", "build", "--release", "--offline"])
HOSTS = [f"{name}.example.{top}" for name in ("registry", "api", "cdn", "telemetry", "files") for top in ("org", "com", "net")]
ROWS = (
    ("audit list", ["list"]),
    ("audit list --json", ["list", "--json"]),
    ("audit list --host (8 %)", ["list", "--host", "example.org"]),
    ("audit list --since (none)", ["list", "--since", "2030-01-01"]),
    ("audit tail", ["tail"]),
    ("audit stats", ["stats"]),
    ("audit verify", ["verify"]),
)


def bodies(dice):
    """Records as record.c writes them: runs, and the refusals of one in three."""
    policy = hashlib.sha256(b"policy").hexdigest()
    while True:
        identity = {"id": "".join(dice.choices(ALPHABET, k=12)), "session": f"session-{dice.randrange(40)}", "agent": "bot"}
        denials = dice.choice((0, 0, 1, 2))
        for _ in range(denials):
            if dice.random() < 0.2:
                yield {"kind": "deny.net", **identity, "verdict": "denied", "op": "connect", "host": dice.choice(HOSTS),
                       "port": 443, "access": "network", "errno": "EACCES", "rule": "net.mode = none",
                       "why": "the network is off (net.mode, built-in)", "allow_with": "--allow-host example.org",
                       "count": dice.randrange(1, 9), "policy": policy}
            else:
                path = f"/home/user/.cache/tool-{dice.randrange(300)}/index"
                yield {"kind": "deny.path", **identity, "verdict": "denied", "op": "open", "path": path, "access": "create",
                       "errno": "EROFS", "rule": "system", "why": f"{path} is read-only in the sandbox (system, built-in)",
                       "allow_with": f"--write {os.path.dirname(path)}", "count": 1, "policy": policy}
        directory = f"/home/user/projects/service-{dice.randrange(50)}"
        yield {"kind": "run", **identity, "verdict": "allowed", "reason": "exit", "exit": dice.choice((0, 0, 0, 1, 2)),
               "signal": None, "duration_ms": dice.randrange(2, 90000), "level": "full", "command": dice.choice(COMMANDS),
               "cwd": directory, "workspace": directory, "engine": "namespaces", "mode": "workspace-write", "net": "none",
               "denials": denials, "leaks": 0, "usage": {"cpu_ms": 139, "max_rss_kb": 53600, "processes_peak": 12},
               "policy": policy}


class Writer:
    """The files of a log and its head."""

    def __init__(self, state):
        self.state = state
        self.hash, self.seq, self.number, self.length = "0" * 64, 0, 1, 0
        os.makedirs(f"{state}/audit", mode=0o700)
        self.file = self.open()

    def open(self):
        return open(f"{self.state}/audit/{self.number:010}.jsonl", "wb", opener=lambda p, f: os.open(p, f, 0o600))

    def add(self, time, body):
        if self.length >= FILE_MAX:
            self.file.close()
            self.number, self.length = self.number + 1, 0
            self.file = self.open()
        self.seq += 1
        text = (f'{{"time":"{time}","seq":{self.seq},' + json.dumps(body, separators=(",", ":"))[1:-1]).encode()
        self.hash = hashlib.blake2b(self.hash.encode() + text, digest_size=32).hexdigest()
        line = text + f',"hash":"{self.hash}"}}\n'.encode()
        self.file.write(line)
        self.length += len(line)

    def close(self):
        self.file.close()
        with open(f"{self.state}/runs", "wb", opener=lambda p, f: os.open(p, f, 0o600)) as head:
            head.truncate(HEAD_AT)
            head.seek(HEAD_AT)
            head.write(f"corral audit 1 1 1 {self.number} {self.seq} {self.length} {self.hash}\n".encode().ljust(192, b"\0"))


def generate(state, records, begin=datetime.datetime(2026, 9, 1, 8, 0, 0)):
    """A log of two months with this many records; its size in bytes."""
    writer, now = Writer(state), begin
    dice = random.Random(17)
    source = bodies(dice)
    for _ in range(records):
        now += datetime.timedelta(milliseconds=dice.randrange(10000))
        writer.add(f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z", next(source))
    writer.close()
    return sum(entry.stat().st_size for entry in os.scandir(f"{state}/audit"))


def one(bench, home, words):
    """Processor seconds and the peak of memory in MB of one call."""
    said = bench.output([bench.program("crowd"), "use", bench.corral, "audit", *words], bench.place, env={"HOME": home}).split()
    return float(said[0]), int(said[1]) / 1024


def measure(bench):
    home, records = f"{bench.place}/audit", 100000 if bench.quick else 1000000
    os.makedirs(home)
    try:
        size = generate(f"{home}/.local/state/corral", records)
        bench.give(home)
        rows = {}
        for name, words in ROWS:
            turns = [one(bench, home, words) for _ in range(1 if bench.quick else 3)]
            rows[name] = {"seconds": statistics.median(turn[0] for turn in turns), "mb": max(turn[1] for turn in turns)}
    finally:
        shutil.rmtree(home)
    return {"records": records, "bytes": size, "rows": rows}


def tables(data):
    yield Table(f"{data['records']} records, {data['bytes'] / 1e6:.0f} MB", ("reader", "processor time, s", "peak memory, MB"),
                [(name, f"{row['seconds']:.2f}", f"{row['mb']:.1f}") for name, row in data["rows"].items()])


def plots(_data):
    return ()
