# SPDX-License-Identifier: Apache-2.0
"""`corral check url`: which URLs a tool outside may fetch, and from which addresses."""
import shutil

from harness import Skip, check, contains, equal

KEYS = ["addresses", "allowed", "host", "port", "reason", "remedy", "rule", "scheme", "url", "version"]

HOSTS = """
11.0.0.66 good.test both.test
2606:4700::66 both.test
11.0.0.66 mixed.test
::1 mixed.test
127.0.0.1 loop.test
10.1.2.3 corp.test
169.254.169.254 meta.test
11.9.9.9 own.test
11.8.0.7 routed.test
11.7.0.1 denied-address.test
64:ff9b::7f00:1 translated.test
"""


def shape(done, url):
    found = done.json
    equal(sorted(found), KEYS, "keys")
    equal([found["version"], found["url"]], [1, url], "version and url")
    done.exited(0 if found["allowed"] else 1)
    equal(done.err, "", "stderr")
    equal([found["rule"] is None, found["reason"] is None, found["remedy"] is None], [found["allowed"]] * 3,
          f"reasons of {found}")
    check(found["allowed"] or not found["addresses"], f"addresses of a refusal: {found}")
    return found


def verdict(box, url, *words):
    """The object of `corral check url --json`, with its shape and exit status checked."""
    return shape(box.corral_("check", "url", url, "--json", *words), url)


def elsewhere(box, *words):
    """corral on a host with the names above, no name server, 11.9.9.9 as an address and 11.8.0.0/24 as a network of its own."""
    if not box.suite.root:
        raise Skip("needs root for namespaces that show another hosts file")
    for tool in ("unshare", "setpriv", "ip"):
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is missing")
    box.write("hosts", HOSTS)
    box.write("resolv.conf", "nameserver 127.0.0.9\noptions timeout:1 attempts:1\n")
    script = (f"mount --bind {box.dir}/hosts /etc/hosts && mount --bind {box.dir}/resolv.conf /etc/resolv.conf && "
              "ip link set lo up && ip address add 11.9.9.9/32 dev lo && ip route add local 11.8.0.0/24 dev lo && "
              f"exec setpriv --reuid {box.user.uid} --regid {box.user.gid} --clear-groups \"$@\"")
    return box.execute(["unshare", "-m", "-n", "--propagation", "private", "/bin/sh", "-c", script, "sh", box.corral, *words],
                       user=0, group=0)


def verdict_elsewhere(box, url, *words):
    return shape(elsewhere(box, "check", "url", url, "--json", *words), url)


def register(suite):
    test = suite.test

    @test("check url allows a public address and says where to connect", root=True)
    def _(box):
        found = verdict(box, "https://11.0.0.66:8443/x?y#z")
        equal([found["allowed"], found["scheme"], found["host"], found["port"], found["addresses"]],
              [True, "https", "11.0.0.66", 8443, ["11.0.0.66"]], "verdict")
        contains(box.corral_("check", "url", "http://11.0.0.66/").exited(0).out, "allowed: 11.0.0.66 port 80 at 11.0.0.66", "text")

    @test("check url names the rule that refuses")
    def _(box):
        for url, rule, word in (
                ("ftp://example.org/", "scheme", "http"), ("example.org", "form", "scheme"), ("http:example.org", "form", "//"),
                ("http://a\\@b/", "form", "backslash"), ("http://u:p@example.org/", "host", "user name"),
                ("http://%65xample.org/", "host", "percent"), ("http://b\u00fccher.example/", "host", "ASCII"),
                ("http://0x08.8.8.8/", "host", "written in a form"), ("http://a..b/", "host", "label"), ("http://example.org:0/", "host", "port"),
                ("http://localhost/", "name", "this host"), ("http://metadata.google.internal/", "name", ".internal"),
                ("http://nas/", "name", "domain"), ("http://127.1/", "address", "loopback"),
                ("http://2130706433/", "address", "loopback"), ("http://[::ffff:10.0.0.1]/", "address", "private"),
                ("http://169.254.169.254/latest", "address", "metadata"), ("http://[fd00:ec2::254]/", "address", "metadata"),
                ("http://100.64.0.1/", "address", "shared"), ("http://0.0.0.0/", "address", "this host")):
            found = verdict(box, url)
            equal(found["rule"], rule, url)
            contains(found["reason"], word, url)
        done = box.corral_("check", "url", "http://a/\x1b[31m").exited(1)
        for part in ("refused: ", "remedy: "):
            contains(done.out, part, "text")

    @test("check url judges every address that a name leads to", root=True)
    def _(box):
        found = verdict_elsewhere(box, "http://GOOD.test./")
        equal([found["host"], found["addresses"]], ["good.test", ["11.0.0.66"]], "good.test")
        equal(verdict_elsewhere(box, "http://both.test/")["addresses"], ["11.0.0.66", "2606:4700::66"], "both.test")
        for name, word in (("mixed", "::1"), ("loop", "127.0.0.1"), ("corp", "10.1.2.3"), ("meta", "metadata"),
                           ("own", "this host itself"), ("routed", "this host itself"), ("translated", "the loopback")):
            found = verdict_elsewhere(box, f"https://{name}.test/")
            equal(found["rule"], "address", name)
            contains(found["reason"], word, name)
        equal(verdict_elsewhere(box, "http://11.9.9.9/")["rule"], "address", "this host's own address")

    @test("check url refuses a name that nobody answers for", root=True)
    def _(box):
        found = verdict_elsewhere(box, "https://nobody.test/")
        equal(found["rule"], "lookup", "rule")
        contains(found["reason"], "nobody.test", "reason")

    @test("check url: net.private opens private networks, net.deny closes", root=True)
    def _(box):
        private = ("--net", "restricted", "--allow-private", "10.0.0.0/8")
        equal(verdict_elsewhere(box, "http://corp.test/", *private)["addresses"], ["10.1.2.3"], "a network that is listed")
        check(verdict_elsewhere(box, "http://10.9.8.7/", *private)["allowed"], "an address of it")
        equal(verdict_elsewhere(box, "http://loop.test/", *private)["rule"], "address", "the loopback")
        deny = ("--deny-host", "*.test:443", "--deny-host", "11.7.0.0/16", "--deny-host", "good.test")
        equal(verdict_elsewhere(box, "https://both.test/", *deny)["rule"], "net.deny", "a name at a port")
        check(verdict_elsewhere(box, "http://both.test/", *deny)["allowed"], "another port")
        equal(verdict_elsewhere(box, "http://good.test:81/", *deny)["rule"], "net.deny", "a name at every port")
        equal(verdict_elsewhere(box, "http://denied-address.test/", *deny)["rule"], "net.deny", "an address")
        equal(verdict(box, "http://11.7.8.9/", *deny)["rule"], "net.deny", "an address that is written")
