#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the gate's reading of HTTP/1 with nginx's, connection by connection.

    http_against_nginx.py SNIFF [--nginx PROGRAM] [--seed N] [--count N]

The connections are those of http_against_others.py.  nginx listens on a socket file in a directory of
its own, and tells with each answer for which host it read the request.  Wherever the gate lets a
connection pass, nginx must read the same hosts in the same order and not one request more; what nginx
refuses harms nobody.  Prints TAP.
"""

import argparse
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the clone stays as it is

from http_against_others import PLAIN, Maker, gate, host_of, report  # noqa: E402

SETTINGS = """
daemon off; master_process off; pid {top}/pid; error_log {top}/errors crit;
events {{ worker_connections 64; }}
http {{
    access_log off; keepalive_requests 1000; lingering_close off;
    client_header_buffer_size 64k; client_header_timeout 5s; client_body_timeout 5s;
    client_body_temp_path {top}/body; proxy_temp_path {top}/proxy; fastcgi_temp_path {top}/fastcgi;
    uwsgi_temp_path {top}/uwsgi; scgi_temp_path {top}/scgi;
    server {{ listen unix:{top}/socket; server_name {nobody}; location / {{ add_header X-Read "<$host>"; return 200; }} }}
}}
"""
NOBODY = "nobody.invalid"  # whom nginx takes where a request names none


class Nginx:
    """One server, without a network."""

    def __init__(self, program, top):
        self.path = f"{top}/socket"
        with open(f"{top}/settings", "w", encoding="ascii") as out:
            out.write(SETTINGS.format(top=top, nobody=NOBODY))
        self.process = subprocess.Popen([program, "-e", f"{top}/errors", "-p", top, "-c", f"{top}/settings"])
        end = time.monotonic() + 10
        while not os.path.exists(self.path) and time.monotonic() < end:
            time.sleep(0.02)

    def hosts(self, case):
        """For whom it read each request that it took."""
        got = b""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.path)
            try:
                sock.sendall(case)
                sock.shutdown(socket.SHUT_WR)
                while part := sock.recv(65536):
                    got += part
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has refused
        return [host.decode("latin-1") for host in re.findall(rb"\r\nX-Read: <([^\r\n]*)>\r\n", got)]

    def close(self):
        self.process.terminate()
        self.process.wait()


def differ(ours, seen):
    """None, or how."""
    requests, last = ours
    for (_, _, host, _), other in zip(requests or [], seen):
        if host_of(None if other == NOBODY else other, "/", 1) != host:
            return f"host {other}, here {host}"
    if last == "END" and len(seen) > len(requests):
        return f"{len(seen)} requests, here {len(requests)}"
    return None


def compare(asked, program):
    maker = Maker(random.Random(asked.seed))
    cases = PLAIN + [maker.connection() for _ in range(asked.count // 3)]
    cases += [maker.mutated(maker.connection()) for _ in range(asked.count - len(cases))]
    ours = list(gate(asked.sniff, cases))
    with tempfile.TemporaryDirectory(prefix="corral-nginx-") as top:
        nginx = Nginx(program, top)
        try:
            theirs = [nginx.hosts(case) for case in cases]
        finally:
            nginx.close()
    faults = [(case, fault) for case, mine, seen in zip(cases, ours, theirs) if (fault := differ(mine, seen))]
    faults += [(case, "nginx does not read a plain request") for case, seen in zip(PLAIN, theirs) if len(seen) != 1]
    print(f"# {sum(len(requests or []) for requests, _ in ours)} requests passed here, {sum(map(len, theirs))} there")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sniff")
    parser.add_argument("--nginx", default="nginx")
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--count", type=int, default=6000)
    asked = parser.parse_args()
    program = shutil.which(asked.nginx, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        print("ok 1 - nginx reads the same # SKIP nginx is not installed\n1..1")
        return 0
    failed = report(1, "nginx reads the same", compare(asked, program))
    print("1..1")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
