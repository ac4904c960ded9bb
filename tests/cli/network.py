# SPDX-License-Identifier: Apache-2.0
"""The network as options and policies give it: modes, rules, sets, ports and sockets of the host."""
import http.server
import os
import shutil
import socket
import threading

from harness import PATIENCE, Skip, check, contains, equal, wait_until

CONNECT = ("import socket, sys\n"
           "s = socket.socket(socket.AF_UNIX)\n"
           "s.connect(sys.argv[1])\n"
           "print(s.recv(99).decode(), end='')\n")

FETCH = ("import sys, urllib.request\n"
         "print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode(), end='')\n")


# musl's resolver ignores that it cannot send, and polls for an answer. The count says whether it waits.
LOOK_UP = r"""
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static int waits;
int poll(struct pollfd *fds, nfds_t n, int ms) {
	waits += ms != 0;
	return ppoll(fds, n, ms < 0 ? NULL : &(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}
int main(int argc, char **argv) {
	struct addrinfo *found;
	int rc = getaddrinfo(argv[argc - 1], "80", NULL, &found);
	printf("%s after %d waits\n", rc == 0 ? "found" : "not found", waits);
}
"""


class UnixServer:
    """Says hello to whoever connects."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chmod(path, 0o777)
        self.socket.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            peer.sendall(b"hello\n")
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802  the name is the base class's
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass


class WebServer:
    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self.server.server_address[1]

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def explained(box, *words):
    return box.corral_("explain", "--json", *words).exited(0).json["plan"]


def rules(plan):
    return {r["host"]: r for r in plan["net"]["allow"]}


def register(suite):
    test = suite.test

    @test("--allow-host means a filtered network, with a name server of its own", root=True)
    def _(box):
        done = box.run("--allow-host", "a.example", "-c", "grep ^nameserver /etc/resolv.conf; echo ${PIP_RETRIES-none} $npm_config_fetch_retry_mintimeout")
        equal(done.exited(0).out, "nameserver 127.0.0.53\n2 500\n", "inside")
        result = box.json("--allow-host", "a.example", "true")
        states = {g["name"]: g["state"] for g in result["guarantees"]}
        equal((states["net"], states["net.names"]), ("enforced", "enforced"), "guarantees")

    @test("a name fails at once in a run without names, also for musl", root=True)
    def _(box):
        if shutil.which("musl-gcc") is None:
            raise Skip("musl-gcc is not installed")
        box.write("ws/look_up.c", LOOK_UP)
        box.sh("musl-gcc -D_GNU_SOURCE -static -o look_up look_up.c").exited(0)
        for level in ("auto", "standard"):
            for more in ((), ("--host-port", "9"), ("--publish", str(free_port()))):
                done = box.run("--level", level, *more, "./look_up", "name.invalid").exited(0)
                equal(done.out, "not found after 0 waits\n", f"{level} {more}")
        equal(box.run("./look_up", "localhost").exited(0).out, "found after 0 waits\n", "a name of /etc/hosts")
        box.write("home/.config/corral/corral.toml", "[fs]\nview = \"minimal\"\n")
        equal(box.run("./look_up", "name.invalid").exited(0).out, "not found after 0 waits\n", "the minimal view")

    @test("@registries asks a client without settings for its default, outside and once", root=True)
    def _(box):
        client = ("#!/bin/sh\necho \"$PWD $* $(/usr/bin/env | /usr/bin/cut -d= -f1 | /usr/bin/sort | /usr/bin/tr '\\n' ' ')\" >>{log}\necho https://{host}/\n")
        log = box.write("asked", "", 0o666)
        tools = "home/.local/bin"  # the directory of a toolchain
        npm = box.write(f"{tools}/npm", client.format(log=log, host="default.example"), 0o755)
        box.write("ws/bin/npm", client.format(log=log, host="planted.example"), 0o755)
        box.write(f"{tools}/cargo", "#!/bin/sh\n", 0o755)
        box.env["PATH"] = f"{box.ws}/bin:{box.dir}/{tools}"  # what else is installed does not matter
        box.env["SECRET_TOKEN"] = "x"
        box.run("/bin/true").exited(0)
        equal(box.read("asked"), "", "a run without the set")
        done = box.run("--allow-host", "@registries", "/bin/true").exited(0)
        equal(done.err, "", "a warning about a client that is only installed")
        box.run("--allow-host", "@registries", "cargo").said("no registry is known for cargo", "--allow-host NAME")
        box.write("ws/Cargo.toml", "")
        box.run("--allow-host", "@registries", "/bin/true").exited(0).said("no registry is known for cargo", "--allow-host NAME")
        for _ in range(2):
            found = rules(explained(box, "--allow-host", "@registries"))
            contains(found, "default.example:443", "rules")
            check("planted.example:443" not in found, "a client of the workspace was asked")
        equal(box.read("asked"), "/ config get registry HOME LC_ALL PATH PWD \n", "what was asked, where, and with which variables")
        box.write(f"{tools}/npm", client.format(log=log, host="other.example") + "# changed\n", 0o755)
        contains(rules(explained(box, "--allow-host", "@registries")), "other.example:443", "a client that has changed")
        box.write(f"{tools}/npm", "#!/bin/sh\necho https://failed.example/; exit 1\n", 0o755)
        check("failed.example:443" not in rules(explained(box, "--allow-host", "@registries")), "a client that failed is believed")
        box.write("home/.npmrc", "registry=https://mine.example/\n")
        before = box.read("asked")
        contains(rules(explained(box, "--allow-host", "@registries")), "mine.example:443", "settings")
        equal(box.read("asked"), before, "asked although there are settings")
        check(os.path.exists(npm), "the client is gone")

    @test("@registries executes no client that a command of any run could have written", root=True)
    def _(box):
        client = f"#!/bin/sh\necho asked >>{box.write('asked', '', 0o666)}\necho https://planted.example/\n"
        box.write("ws/sub/keep", "")
        box.write("node/bin/npm", client, 0o755)
        box.write("home/.nvm/.git/HEAD", "")  # nvm's own repository
        box.write("home/.nvm/bin/npm", client, 0o755)
        box.write("home/.volta/bin/.git/HEAD", "")  # a repository in a toolchain
        box.write("home/.volta/bin/npm", client, 0o755)
        box.write("ws/bin/npm", client, 0o755)
        box.mkdir("home/.local/bin")
        box.mkdir("home/.cargo/bin")
        os.symlink(f"{box.ws}/bin/npm", f"{box.home}/.local/bin/npm")
        # "env npm" finds the program of the workspace by a link beside it
        os.symlink(f"{box.ws}/bin/npm", f"{box.home}/.cargo/bin/npm-of-project")
        box.write("home/.cargo/bin/yarn", "#!/usr/bin/env npm-of-project\n", 0o755)

        def run(place):
            box.env["PATH"] = place
            return rules(explained(box, "-w", "sub", "--allow-host", "@registries"))

        for place in (f"{box.ws}/bin", f"{box.dir}/node/bin", f"{box.home}/.local/bin", f"{box.home}/.volta/bin", f"{box.home}/.cargo/bin"):
            check("planted.example:443" not in run(place), f"a client in {place} was executed")
        equal(box.read("asked"), "", "executed outside")
        box.env["PATH"] = f"{box.ws}/bin"
        box.run("-w", "sub", "--allow-host", "@registries", "npm").said("no registry is known for npm", "--allow-host NAME")
        contains(run(f"{box.home}/.nvm/bin"), "planted.example:443", "a client in the user's own nvm")

    @test("what is not allowed is not reached, by name or by address", root=True)
    def _(box):
        script = ("import socket\n"
                  "for to in (('b.example', 443), ('192.0.2.1', 443), ('127.0.0.53', 5353)):\n"
                  "    try:\n        socket.create_connection(to, 5)\n        print('reached', to)\n"
                  "    except OSError as e:\n        print('refused')\n")
        for level in ("auto", "standard"):
            done = box.run("--level", level, "--allow-host", "a.example", "--", "python3", "-c", script)
            equal(done.exited(0).out, "refused\n" * 3, level)

    @test("an explicit mode is not widened, and a later one sets rules aside")
    def _(box):
        box.run("--net", "none", "--allow-host", "a.example", "true").exited(2).said("--net", "--allow-host", "remedy")
        box.write("home/.config/corral/corral.toml", "[net]\nallow = [\"a.example\"]\ndeny = [\"b.example\"]\n")
        equal(explained(box)["network"], "filtered", "by the user's file")
        plan = explained(box, "--net", "none")
        equal(plan["network"], "none", "by the option")
        contains("\n".join(plan["notes"]), "net.allow", "the note")
        done = box.run("--net", "full", "true").exited(0)
        done.said("net.deny", "has no effect")

    @test("an untrusted project adds to net.deny and opens nothing")
    def _(box):
        box.write("ws/.corral.toml", "[net]\ndeny = [\"b.example\"]\n")
        plan = explained(box, "--allow-host", "a.example")
        equal([r["host"] for r in plan["net"]["deny"]], ["b.example:*"], "denied")
        for line in ("allow = [\"a.example\"]", "host_ports = [80]", "sockets = [\"/run/x\"]", "proxy = true"):
            box.write("ws/.corral.toml", f"[net]\n{line}\n")
            box.run("true").exited(126).said("untrusted", "corral policy trust")

    @test("coding allows the registries of this host's clients and the repository's remotes, without their logins")
    def _(box):
        box.write("home/.npmrc", "registry=https://ann:hunter2@npm.example:8443/x\n//npm.example/:_authToken=hunter2\n")
        box.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://ann:hunter2@pip.example/simple\n")
        box.write("ws/.npmrc", "registry=https://evil.example/\n")
        box.env["GOPROXY"] = "https://go.example,direct"
        box.sh("git init -q . && git remote add origin https://ann:hunter2@code.example/x.git && "
               "git remote add up git@up.example:x.git").exited(0)
        box.env["PATH"] = box.mkdir("no-clients")  # what is installed would be asked for its default
        done = box.corral_("explain", "--json", "--profile", "coding").exited(0)
        check("hunter2" not in done.out + done.err, "a password is shown")
        found = rules(done.json["plan"])
        for host in ("npm.example:8443", "pip.example:443", "go.example:443", "code.example:443", "up.example:22"):
            check(host in found, f"{host} is not allowed: {sorted(found)}")
        check(not [h for h in found if "evil" in h], "a file of the workspace counted")
        equal((found["npm.example:8443"]["note"], found["npm.example:8443"]["private"]), ("npm (~/.npmrc)", True), "npm's")
        equal((found["up.example:22"]["note"], found["up.example:22"]["private"]), ("the remote up", False), "the remote's")
        contains("\n".join(done.json["plan"]["notes"]), "cargo", "who is not configured")
        box.run("--profile", "coding", "-c", "/usr/bin/touch made").exited(0)
        check(box.exists("ws/made"), "not written")

    for level in ("auto", "standard"):
        @test(f"--host-port reaches one service of the host and no other, level {level}", root=True)
        def _(box, level=level):
            with WebServer() as port, WebServer() as other:
                done = box.run("--level", level, "--host-port", port, "--", "python3", "-c", FETCH, f"http://127.0.0.1:{port}/")
                equal(done.exited(0).out, "hello\n", "the one")
                done = box.run("--level", level, "--host-port", port, "--", "python3", "-c", FETCH, f"http://127.0.0.1:{other}/")
                check(done.status != 0 and "hello" not in done.out, "the other was reached")

        @test(f"--socket reaches one socket of the host and no other, level {level}", root=True)
        def _(box, level=level):
            with UnixServer(f"{box.dir}/one"), UnixServer(f"{box.dir}/two"):
                words = ("--level", level, "--socket", f"{box.dir}/one", "--", "python3", "-c", CONNECT)
                equal(box.run(*words, f"{box.dir}/one").exited(0).out, "hello\n", "the one")
                done = box.run(*words, f"{box.dir}/two")
                check(done.status != 0 and "hello" not in done.out, "the other was reached")
                mode = os.stat(f"{box.dir}/one").st_mode
                box.run("--level", level, "--socket", f"{box.dir}/one", "-c", f"chmod 700 {box.dir}/one; rm -f {box.dir}/one")
                equal(os.stat(f"{box.dir}/one").st_mode, mode, "the socket's mode")

    @test("--publish lets this host reach a server inside")
    def _(box):
        port, outside = free_port(), free_port()
        server = box.start([box.corral, "run", "--publish", f"{port}:{outside}", "--", "python3", "-m", "http.server", str(port)])

        def answers():
            try:
                with socket.create_connection(("127.0.0.1", outside), 5) as peer:
                    peer.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    return peer.recv(99).startswith(b"HTTP/1.0 200")
            except OSError:
                return False
        check(wait_until(answers), "no answer")
        server.terminate()
        server.communicate(timeout=PATIENCE)

    @test("--socket at another place, and what is no socket")
    def _(box):
        with UnixServer(f"{box.dir}/one"):
            done = box.run("--socket", f"{box.dir}/one:/run/here", "--", "python3", "-c", CONNECT, "/run/here")
            equal(done.exited(0).out, "hello\n", "inside")
        box.run("--socket", f"{box.dir}/none", "true").exited(2).said("no such socket")
        box.write("file", "x")
        box.run("--socket", f"{box.dir}/file", "true").exited(2).said("not a socket")

    @test("a socket that gives the host away is passed with a warning")
    def _(box):
        agent = f"/tmp/ssh-{os.path.basename(box.dir)}"
        os.mkdir(agent, 0o755)
        try:
            with UnixServer(f"{agent}/agent.1"):
                done = box.run("--socket", f"{agent}/agent.1", "--", "python3", "-c", CONNECT, f"{agent}/agent.1").exited(0)
                done.said("signs with your keys")
                equal(done.out, "hello\n", "inside")
        finally:
            os.unlink(f"{agent}/agent.1")
            os.rmdir(agent)

    @test("proxy variables are set when asked for, in both cases")
    def _(box):
        done = box.run("--net", "restricted", "--proxy", "-c", "echo $http_proxy $HTTPS_PROXY $all_proxy $NODE_USE_ENV_PROXY")
        equal(done.exited(0).out, "http://127.0.0.1:3128 http://127.0.0.1:3128 socks5h://127.0.0.1:1080 1\n", "set")
        equal(box.run("--net", "restricted", "-c", "echo ${http_proxy-none}").exited(0).out, "none\n", "unasked")

    @test("a filtered network and a sandbox inside go together")
    def _(box):
        box.run("--allow-host", "a.example", "--host-port", "9", "--allow-nested", "true").exited(0)

    @test("at level standard names are asked for by TCP, and that is said")
    def _(box):
        result = box.json("--level", "standard", "--allow-host", "a.example", "-c", "echo $RES_OPTIONS")
        equal(result["stdout"], "use-vc\n", "the C library's options")
        names = [g for g in result["guarantees"] if g["name"] == "net.names"][0]
        equal(names["state"], "weaker", "net.names")
        contains(names["why"], "TCP", "why")
