#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page with 5,000 ended sessions and a log of a million records: each page of the lists, and 200 open event streams.

    tests/ui/scale.py --corral build/corral [--records N]

The database and the log are filled as the daemon and its runs write them.  The verdicts on time are processor time of the
daemon for one page, which the load of the computer does not change much: the median is at most 100 ms.
"""
import argparse
import datetime
import html
import json
import os
import random
import re
import socket
import sqlite3
import statistics
import sys
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, f"{TESTS}/session", f"{TESTS}/bench"]

import audit  # noqa: E402  the path has to be set first
from browser import Browser  # noqa: E402
from security import memory  # noqa: E402
from service import PATIENCE, Service, check, equal, wait_until  # noqa: E402

SESSIONS, STREAMS = 5000, 200
SCROLLED = 40  # pages of a list, as HTML
PAGE_MS = 100
GROWTH = 4 << 20  # bytes: the allocator's, not 200 times something
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def own(service, path):
    for place, names, files in os.walk(path):
        for name in names + files + [""]:
            os.chown(os.path.join(place, name), service.uid, service.uid)


def fill_log(service, records):
    state = f"{service.environment['HOME']}/.local/state/corral"
    begin = datetime.datetime.utcnow() - datetime.timedelta(seconds=5 * records)  # to about now: 5 s between two records
    size = audit.generate(state, records, begin)
    own(service, f"{service.environment['HOME']}/.local")
    return size


def session_id(prefix, ms, dice):
    digits = ""
    for _ in range(10):
        ms, digit = divmod(ms, 32)
        digits = DIGITS[digit] + digits
    return prefix + digits + "".join(dice.choices(DIGITS, k=16))


def fill_sessions(service, like):
    """Copies of a session that the daemon made itself, as rows of its database; the daemon does not run."""
    path, dice = f"{service.environment['HOME']}/.local/state/corral/daemon/sessions.db", random.Random(5)
    prefix = like[:len(like) - 26]
    base = int(time.time() * 1000) - SESSIONS * 1000
    with sqlite3.connect(path) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(sessions)")]
        row = dict(zip(columns, db.execute("SELECT * FROM sessions WHERE id = ?", (like,)).fetchone()))
        check(row["state"] == "STOPPED", f"the session is {row['state']}")
        for i in range(SESSIONS - 1):
            at = base + i * 1000
            one = row | {"id": session_id(prefix, at, dice), "created": at, "started": at + 5, "ended": at + 900}
            db.execute(f"INSERT INTO sessions VALUES ({','.join('?' * len(columns))})", [one[name] for name in columns])
    db.close()
    own(service, os.path.dirname(path))


def used_ms(service):
    """Processor time of the daemon so far, with the precision of the scheduler."""
    with open(f"/proc/{service.process.pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e6


class Pages:
    """Follows lists, and notes what each page costs."""

    def __init__(self, service):
        self.service, self.browser = service, Browser(service).enter()

    def one(self, path, cost):
        before = used_ms(self.service)
        answer = self.browser.get(path)
        cost.append(used_ms(self.service) - before)
        equal(answer.status, 200, path)
        return answer.text

    def verdict(self, name, cost, rows):
        median = statistics.median(cost)
        print(f"# {name}: {len(cost)} pages, {rows} rows, processor time of a page {median:.1f} ms, at most {max(cost):.1f} ms")
        check(median <= PAGE_MS, f"a page of {name} takes {median:.1f} ms")

    def walk(self, name, rows_of, query=""):
        """The JSON of a list to its end; the number of rows that came, each once and the newest first."""
        total, before, cost, last = 0, None, [], None
        while True:
            page = json.loads(self.one(f"/api/{name}?{query}" + (f"&before={before}" if before else ""), cost))
            for row in page[rows_of]:
                key = row["seq"] if "seq" in row else row["id"]
                check(last is None or key < last, f"{name}: {key} after {last}")
                last, total = key, total + 1
            before = page["next"]
            if before is None:
                self.verdict(f"/api/{name}{query}", cost, total)
                return total

    def scroll(self, name, query=""):
        """The pages that a reader scrolls through, as HTML."""
        cost, path = [], f"/{name}?{query}"
        for _ in range(SCROLLED):
            text = self.one(path, cost)
            link = re.search(r'<a [^>]*rel=next[^>]*>', text)
            if not link:
                break
            path = html.unescape(re.search(r'href="([^"]+)"', link.group(0)).group(1))
        self.verdict(f"/{name}?{query}", cost, "50 a page,")


def test_lists_are_paged_to_their_end(service, records):
    pages = Pages(service)
    pages.one("/", [])  # the first one reads files into the cache
    for name in ("", "charts"):
        cost = []
        for _ in range(9):
            pages.one(f"/{name}", cost)
        pages.verdict(f"/{name}", cost, "no")
    pages.scroll("sessions")
    pages.scroll("audit")
    pages.scroll("runs")
    pages.scroll("audit", "search=tool-299")
    equal(pages.walk("sessions", "sessions"), SESSIONS, "sessions")
    total = pages.walk("audit", "records")
    check(total >= records, f"{total} of {records} records")


def test_open_pages_cost_the_daemon_nothing(service):
    browser = Browser(service).enter()
    request = browser.head("GET", "/events", {"Connection": "keep-alive"})

    def turn():
        streams = []
        for _ in range(STREAMS):
            one = socket.create_connection((browser.host, browser.port), PATIENCE)
            one.sendall(request)
            check(one.recv(4096).startswith(b"HTTP/1.1 200"), "a stream does not begin")
            streams.append(one)
        high = memory(service)
        for one in streams:
            one.close()
        check(wait_until(lambda: len(os.listdir(f"/proc/{service.process.pid}/fd")) < 40), "descriptors are left")
        return high

    first = turn()  # what the allocator keeps
    rest = [turn() for _ in range(4)]
    print(f"# memory of the daemon with {STREAMS} streams: {first >> 10} KiB, then {[one >> 10 for one in rest]} KiB")
    check(max(rest) - first < GROWTH, f"{max(rest) - first} bytes more after {STREAMS * 5} streams")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--records", type=int, default=1_000_000)
    args = parser.parse_args()
    service, bad = Service(args.corral), 0
    try:
        size = fill_log(service, args.records)
        service.start()
        session = service.create()
        service.good("session", "stop", session)
        service.stop()
        fill_sessions(service, session)
        service.start()
        print(f"# {SESSIONS} sessions, {args.records} records, {size / 1e6:.0f} MB")
        tests = ((lambda: test_lists_are_paged_to_their_end(service, args.records), "each list is paged to its end"),
                 (lambda: test_open_pages_cost_the_daemon_nothing(service), "the daemon does not grow with open pages"))
        for number, (test, name) in enumerate(tests, 1):
            try:
                test()
                print(f"ok {number} - {name}", flush=True)
            except Exception:  # pylint: disable=broad-except
                bad += 1
                print("\n".join(f"# {line}" for line in traceback.format_exc().splitlines()))
                print(f"not ok {number} - {name}", flush=True)
        print(f"1..{len(tests)}")
    finally:
        service.close()
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
