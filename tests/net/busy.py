#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""busy.py PORT HABIT: a server that does not answer a call at once, because its queue is full.  Says "ready".

serves: after half a second it takes who is there, and sends back what they say; the caller's kernel asks again
        after a second
leaves: after half a second nobody listens any more
never:  it stays busy
"""
import socket
import sys
import time

PORT, HABIT = int(sys.argv[1]), sys.argv[2]


def main():
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::", PORT))
    server.listen(0)
    place = socket.create_connection(("127.0.0.1", PORT))  # the only one in the queue
    print("ready", flush=True)
    time.sleep(0.5)
    if HABIT == "leaves":
        server.close()
    elif HABIT == "serves":
        server.accept()[0].close()
        server.settimeout(8)
        peer = server.accept()[0]
        print("came", flush=True)
        data = peer.recv(100)
        print("said", data, flush=True)
        peer.sendall(data)
    time.sleep(4)
    place.close()


if __name__ == "__main__":
    main()
