# SPDX-License-Identifier: Apache-2.0
"""rpc.py tls|plain HOST:PORT: two gRPC calls, one with a stream of answers; prints what came back."""
import sys

import grpc

HOW, PLACE = sys.argv[1:3]
SECONDS = 5


def channel():
    if HOW == "plain":
        return grpc.insecure_channel(PLACE)
    with open("/etc/ssl/certs/ca-certificates.crt", "rb") as trusted:
        return grpc.secure_channel(PLACE, grpc.ssl_channel_credentials(trusted.read()))


try:
    with channel() as made:
        print(made.unary_unary("/lab.Echo/Say")(b"hello", timeout=SECONDS).decode())
        for part in made.unary_stream("/lab.Echo/Stream")(b"x" * 100000, timeout=SECONDS):
            print(len(part))
except grpc.RpcError as problem:
    sys.exit(f"rpc: {problem.code().name}: {problem.details()}")
