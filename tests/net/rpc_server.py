#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rpc_server.py SOCKET [CERTIFICATE KEY]: a gRPC server that gives back what it is told, with TLS or without."""
import concurrent.futures
import sys

import grpc

PLACE, FILES = sys.argv[1], sys.argv[2:]


class Echo(grpc.GenericRpcHandler):
    """Every method; those that are called Stream answer three times."""

    def service(self, call):
        if call.method.endswith("Stream"):
            return grpc.unary_stream_rpc_method_handler(lambda said, _: iter([said] * 3))
        return grpc.unary_unary_rpc_method_handler(lambda said, _: call.method.encode() + b" " + said)


def contents(path):
    with open(path, "rb") as source:
        return source.read()


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Echo(),))
    if FILES:
        certificate, key = map(contents, FILES)
        server.add_secure_port(f"unix:{PLACE}", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        server.add_insecure_port(f"unix:{PLACE}")
    server.start()
    server.wait_for_termination()


main()
