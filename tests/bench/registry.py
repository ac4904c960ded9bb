# SPDX-License-Identifier: Apache-2.0
"""A package registry on the loopback, with packages of its own making, for `npm ci`.

Should:   serve from memory, so that it is never the limit.
Must not: contact any other host.
"""
import base64
import hashlib
import http.server
import io
import json
import shutil
import tarfile
import threading

from bench import PATH, Skip

FILES = 25  # of a package


def package(number):
    """A tarball with small files, as npm packs them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        texts = {"package/package.json": json.dumps({"name": f"p{number}", "version": "1.0.0", "main": "lib/f0.js"})}
        texts |= {f"package/lib/f{i}.js": f"exports.value = {number * 1000 + i};\n" * 20 for i in range(FILES)}
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


class Registry:
    """The server and the project that needs its packages."""

    def __init__(self, bench):
        if shutil.which("npm", path=PATH) is None:
            raise Skip("npm is not installed")
        self.packages = 40 if bench.quick else 200
        self.tarballs = {f"/p{n}.tgz": package(n) for n in range(self.packages)}
        tarballs = self.tarballs

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = tarballs.get(self.path, b"")
                self.send_response(200 if body else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                del words

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def net(self):
        return ["--net", "full"]

    def filtered(self):
        return ["--net", "filtered", "--host-port", str(self.port)]

    def command(self):
        return ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier", "--cache", "./cache",
                "--registry", self.url(), "--loglevel", "error"]

    def project(self, bench, folder):
        wanted = {f"p{n}": "1.0.0" for n in range(self.packages)}
        locked = {"": {"name": "bench", "version": "1.0.0", "dependencies": wanted}}
        for n in range(self.packages):
            digest = base64.b64encode(hashlib.sha512(self.tarballs[f"/p{n}.tgz"]).digest()).decode()
            locked[f"node_modules/p{n}"] = {"version": "1.0.0", "resolved": f"{self.url()}/p{n}.tgz", "integrity": f"sha512-{digest}"}
        bench.write(f"{folder}/package.json", json.dumps({"name": "bench", "version": "1.0.0", "dependencies": wanted}))
        bench.write(f"{folder}/package-lock.json", json.dumps({"name": "bench", "version": "1.0.0", "lockfileVersion": 3,
                                                               "requires": True, "packages": locked}))
