#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the first bytes of real TLS clients with the gate's parser.

    tls_hello_of_clients.py SNIFF [SAVE]

Each client connects to a listener on loopback that only listens; what it sent goes
through sniff as a whole, byte by byte, and cut anew into records of other sizes.  The
server name must be the one that the client was told.  SAVE: a directory that gets what
was captured.  Prints TAP; a client that is not installed is skipped.
"""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

PYTHON = ("import socket, ssl; c = ssl._create_unverified_context();"
          "c.wrap_socket(socket.create_connection(('127.0.0.1', {port})), server_hostname={name!r})")
NODE = "require('tls').connect({{host: '127.0.0.1', port: {port}, servername: '{name}'}}).on('error', () => 0)"
GO = """package main

import "crypto/tls"

func main() {{
	_, _ = tls.Dial("tcp", "127.0.0.1:{port}", &tls.Config{{ServerName: "{name}", InsecureSkipVerify: true}})
}}
"""
JAVA = """import javax.net.ssl.*;

class Hello {{
	public static void main(String[] a) throws Exception {{
		SSLSocket s = (SSLSocket) SSLSocketFactory.getDefault().createSocket("127.0.0.1", {port});
		SSLParameters p = s.getSSLParameters();
		p.setServerNames(java.util.List.of(new SNIHostName("{name}")));
		s.setSSLParameters(p);
		s.startHandshake();
	}}
}}
"""
LONG = "a" * 63 + "." + "b" * 63 + ".allowed.test"

# What it is, the name that it is told and the one that is expected ("-": none), its command;
# "FILE NAME" is a source that is written first.
CLIENTS = [
    ("openssl", "allowed.test", "allowed.test",
     ["openssl", "s_client", "-connect", "127.0.0.1:{port}", "-servername", "{name}"]),
    ("openssl, TLS 1.2", "allowed.test", "allowed.test",
     ["openssl", "s_client", "-connect", "127.0.0.1:{port}", "-servername", "{name}", "-tls1_2"]),
    ("openssl, TLS 1.3", "Sub.ALLOWED.test", "sub.allowed.test",
     ["openssl", "s_client", "-connect", "127.0.0.1:{port}", "-servername", "{name}", "-tls1_3"]),
    ("openssl without a name", "", "-", ["openssl", "s_client", "-connect", "127.0.0.1:{port}", "-noservername"]),
    ("openssl, small records", "allowed.test", "allowed.test",
     ["openssl", "s_client", "-connect", "127.0.0.1:{port}", "-servername", "{name}", "-split_send_frag", "64",
      "-max_send_frag", "512", "-alpn", ",".join("protocol-%d" % n for n in range(90))]),
    ("python", "allowed.test", "allowed.test", ["/usr/bin/python3", "-c", PYTHON]),
    ("python, a long name", LONG, LONG, ["/usr/bin/python3", "-c", PYTHON]),
    ("python, an address", "127.0.0.1", "-", ["/usr/bin/python3", "-c", PYTHON]),
    ("curl", "allowed.test", "allowed.test",
     ["curl", "-sk", "--resolve", "{name}:{port}:127.0.0.1", "https://{name}:{port}/"]),
    ("curl, HTTP/1.1 and TLS 1.2", "allowed.test", "allowed.test",
     ["curl", "-sk", "--http1.1", "--tls-max", "1.2", "--resolve", "{name}:{port}:127.0.0.1", "https://{name}:{port}/"]),
    ("curl, a trailing dot", "allowed.test.", "allowed.test",
     ["curl", "-sk", "--resolve", "allowed.test.:{port}:127.0.0.1", "https://{name}:{port}/"]),
    ("curl, an address", "127.0.0.1", "-", ["curl", "-sk", "https://{name}:{port}/"]),
    ("wget", "localhost", "localhost", ["wget", "-q4", "-t1", "-O-", "--no-check-certificate", "https://{name}:{port}/"]),
    ("git", "localhost", "localhost", ["git", "ls-remote", "https://{name}:{port}/x"]),
    ("node", "allowed.test", "allowed.test", ["node", "-e", NODE]),
    ("go", "allowed.test", "allowed.test", ["go", "run", "hello.go", GO]),
    ("java", "allowed.test", "allowed.test", ["java", "Hello.java", JAVA]),
]
RECORDS = 2000  # into which a hello may be cut: RECORDS_MAX of gate/hello.c, and some room
PATIENCE = 300  # seconds; go and java compile first, and a loaded machine is slow


def capture(row, place):
    """What the client sends first."""
    _, name, _, argv = row
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        words = {"port": listener.getsockname()[1], "name": name}
        argv = [part.format(**words) for part in argv]
        if argv[0] in ("go", "java"):
            with open(f"{place}/{argv[-2]}", "w", encoding="utf-8") as out:
                out.write(argv.pop())
        env = dict(os.environ, HOME=place, GOCACHE=f"{place}/cache", GIT_SSL_NO_VERIFY="1", NO_PROXY="*", no_proxy="*",
                   TMPDIR=place, JAVA_TOOL_OPTIONS="-XX:-UsePerfData")  # nothing of theirs stays in /tmp
        with subprocess.Popen(argv, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as client:
            try:
                return first_bytes(listener)
            finally:
                os.killpg(client.pid, signal.SIGKILL)  # with what it started


def message_of(records):
    """What the records carry."""
    message, at = b"", 0
    while at + 5 <= len(records):
        length = struct.unpack(">H", records[at + 3:at + 5])[0]
        message += records[at + 5:at + 5 + length]
        at += 5 + length
    return message


def is_whole(message):
    """Whether a handshake message has as many bytes as it says."""
    return len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big")


def first_bytes(listener):
    taken, _ = listener.accept()
    with taken:
        taken.settimeout(PATIENCE)
        got = b""
        while not is_whole(message_of(got)) and (more := taken.recv(65536)):
            got += more
        return got


def cut(hello, size):
    """The same message in records of at most size bytes."""
    message = message_of(hello)
    parts = [message[n:n + size] for n in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part for part in parts)


def sniff(program, cases):
    said = subprocess.run([program, "hello"], input=b"".join(struct.pack(">I", len(c)) + c for c in cases),
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return said.splitlines()


def test(program, row, place, save):
    """None, or what is wrong."""
    try:
        hello = capture(row, place)
    except OSError as error:
        return f"did not connect: {error}"
    if save:
        with open(f"{save}/{re.sub('[^a-z0-9]+', '_', row[0].lower())}", "wb") as out:
            out.write(hello)
    smallest = -(-len(message_of(hello)) // RECORDS)  # a newer client says more
    cases = [hello, hello + b"\x17\x03\x03\x00\x01x"] + [cut(hello, max(size, smallest)) for size in (1, 2, 3, 7, 50, 200, 16384)]
    said = sniff(program, cases)
    if said != [f"DONE {row[2]}"] * len(cases):
        return f"{said}, {len(hello)} bytes: {hello.hex()}"
    early = sniff(program, [hello[:-1]])
    return None if early == ["MORE"] else f"before the end: {early}"


def main():
    program, save = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    failed = 0
    with tempfile.TemporaryDirectory(prefix="corral-hello-") as place:
        for number, row in enumerate(CLIENTS, 1):
            if shutil.which(row[3][0]) is None:
                print(f"ok {number} - {row[0]} # SKIP {row[3][0]} is not installed")
                continue
            fault = test(program, row, place, save)
            failed += fault is not None
            if fault:
                print(f"# {fault}")
            print(f"{'not ok' if fault else 'ok'} {number} - {row[0]}", flush=True)
    print(f"1..{len(CLIENTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
