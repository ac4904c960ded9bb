# SPDX-License-Identifier: Apache-2.0
"""URLs: gate/url against Node's URL and Python's urlsplit.

The product may refuse what they read.  What it accepts, all three read alike; what Node would
send to an address that is not public, it refuses; and what is written as Node itself writes it
is not refused without need.
"""
import ipaddress
import json
import random
import re
import shutil
import subprocess
import urllib.parse

from harness import Skip, check, equal

NODE = """
const lines = require('fs').readFileSync(0, 'latin1').split('\\n');
for (const line of lines.slice(0, -1)) {
  let said = null;
  try {
    const u = new URL(Buffer.from(line, 'hex').toString('utf8'));
    said = {scheme: u.protocol, host: u.hostname, port: u.port, user: u.username + u.password, href: u.href};
  } catch (e) {}
  console.log(JSON.stringify(said));
}
"""

SCHEMES = ("http://",) * 8 + ("https://",) * 8 + (
    "HTTP://", "hTTps://", "http:", "http:/", "http:///", "http:\\\\", "http:/\\", "http:\\/", "https:////", "//", "",
    "ftp://", "file://", "ws://", "gopher://", "httpx://", "javascript:", "ht\ttp://", "http\n://", " http://", "http ://", "\x00http://")
USERS = ("",) * 20 + ("user@", "user:pw@", "a@b@", "127.0.0.1@", "127.0.0.1:80@", "%40@", "@", ":@", "a\\@", "a/@", "a?@", "a#@")
NAMES = ("example.org", "Example.ORG", "example.org.", "a.b.c.example", "xn--bcher-kva.example", "a_b.example", "1.2.3.4.example",
         "a-b.example", "-a.example", "a-.example", "a..b", ".a.b", "a.1", "a.0x1", "1e3.example", "0x.example", "example.0xg",
         "localhost", "x.localhost", "metadata.google.internal", "metadata", "nas.lan", "b\u00fccher.example", "\uff41.example",
         "a\u3002example", "\u0430.example", "\u00df.example", "a\u00ad.example", "%65xample.org", "ex%61mple.org", "%31%32%37.0.0.1",
         "example.org%00", "example%2eorg", "%6c%6f%63alhost", "a b.example", "a|b.example", "a^b.example", "a<b>.example", "",
         "\uff11\uff12\uff17.0.0.1", "\u2460.example", "127.0.0.1.example", "[", "]", "[]", "[a]", "a" * 64 + ".example")
PORTS = ("",) * 10 + (":80", ":443", ":8080", ":0", ":", ":65535", ":65536", ":080", ":+80", ":80x", ":-1", ":80:80", ": 80", ":\t80", ":8\n0")
TAILS = ("", "/", "/a", "/a?b", "?a", "#a", "?a@b.example", "#@b.example/", "\\a", "\\@b.example", "/a@b", "/\\@b", "/%00", "//x", ";a", "/a b",
         "/\u00e9", "&a", "/../..", "\r\nHost: b")
STRAY = "\t\n\r\\@:/?#[]%. \x00\x01\x7f\u00ad\u200b\u3002\uff0e0x8-_"


def spelled4(chance):
    """Some spelling of some IPv4 address."""
    value = chance.choice((0x7f000001, 0x0a000001, 0xa9fea9fe, 0x08080808, 0xc0a80101, 0, 0xffffffff, chance.getrandbits(32)))
    parts = chance.choice((1, 2, 3, 4, 4, 4))
    numbers = [value >> (24 - 8 * i) & 0xff for i in range(parts - 1)]
    numbers.append(value & (1 << 8 * (5 - parts)) - 1)
    style = chance.choice(("plain", "plain", "mixed", "octal", "hex"))
    words = []
    for number in numbers:
        how = chance.choice(("plain", "octal", "hex", "zeros")) if style == "mixed" else style
        words.append({"plain": f"{number}", "octal": f"0{number:o}", "hex": f"0{chance.choice('xX')}{number:x}",
                      "zeros": f"{number:04}"}[how])
    return ".".join(words) + chance.choice(("",) * 8 + (".", "..", ".0", "x", ".example"))


def spelled6(chance):
    """Some spelling of some IPv6 address, in brackets."""
    value = chance.choice((1, 0, 0xffff7f000001, 0x7f000001, 0x64ff9b << 96 | 0x7f000001, 0x64ff9b << 96 | 0x08080808,
                           0x2002 << 112 | 0x7f000001 << 80, 0xfd000ec2 << 96 | 0x254, 0xfe80 << 112 | 1,
                           0x20014860 << 96 | 0x8888, 0x26064700 << 96 | chance.getrandbits(64), 0xffff08080808,
                           chance.getrandbits(128)))
    address = ipaddress.IPv6Address(value)
    text = chance.choice((address.compressed, address.exploded, address.compressed.upper()))
    if chance.random() < 0.2:
        groups = address.exploded.split(":")
        text = ":".join(groups[:6]) + ":" + str(ipaddress.IPv4Address(value & 0xffffffff))
    text += chance.choice(("",) * 10 + ("%25lo", "%lo", "%", ":", "::", ":1", ".", " "))
    return f"[{text}]" + chance.choice(("",) * 12 + (".", "x", "%20"))


def random_url(chance):
    host = chance.choice((spelled4, spelled6, lambda c: c.choice(NAMES), lambda c: c.choice(NAMES)))(chance)
    if chance.random() < 0.5:  # one fault at most, or all would be refused for several
        return chance.choice(("http://", "https://")) + host + chance.choice(("", "", ":8080")) + chance.choice(("", "/", "/a?b", "#a"))
    url = chance.choice(SCHEMES) + chance.choice(USERS) + host + chance.choice(PORTS) + chance.choice(TAILS)
    while chance.random() < 0.15:
        at = chance.randrange(len(url) + 1)
        url = url[:at] + chance.choice(STRAY) + url[at:]
    return url


def answers(argv, urls):
    text = "".join(url.encode().hex() + "\n" for url in urls)
    done = subprocess.run(argv, input=text, stdout=subprocess.PIPE, text=True, timeout=600, check=False)
    equal(done.returncode, 0, f"the end of {argv[0]}")
    said = done.stdout.splitlines()
    equal(len(said), len(urls), f"the answers of {argv[0]}")
    return said


def of_node(said):
    """(scheme, host, port) as Node would use them; the name without its last dot."""
    scheme = said["scheme"][:-1]
    host = said["host"].strip("[]")
    host = ipaddress.ip_address(host).compressed if ":" in host else host.removesuffix(".")
    return scheme, host, int(said["port"] or {"http": 80, "https": 443}.get(scheme, 0))


def of_python(url):
    split = urllib.parse.urlsplit(url)
    host = (split.hostname or "").removesuffix(".")
    host = ipaddress.ip_address(host).compressed if ":" in host else host
    return split.scheme, host, split.port or {"http": 80, "https": 443}.get(split.scheme, 0)


def address(host):
    """The address that a host is, IPv4 in IPv6 taken out; or None."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_local(host):
    found = address(host)
    if found is not None:
        return not found.is_global or found.is_multicast
    return "." not in host or re.search(r"(^|\.)(localhost|internal|local|lan)$", host) is not None


# Of the public internet, and yet refused: an old relay, tunnels and translators to IPv4, a cloud's own service.
REFUSED_TOO = tuple(map(ipaddress.ip_network, (
    "192.88.99.0/24", "168.63.129.16/32", "192.0.0.0/24", "::/3", "2001::/23", "2002::/16", "3fff::/20", "4000::/2", "8000::/1")))


def is_plain(url, node):
    """Written as Node writes it, with a host that everybody knows to be one of the internet."""
    _, host, port = of_node(node)
    found = address(host)
    labels = host.split(".")
    if url not in (node["href"], node["href"].removesuffix("/")) or node["user"] or is_local(host) or port == 0:
        return False
    if found is not None:
        return not any(found.version == n.version and found in n for n in REFUSED_TOO) and "ffff:" not in node["host"]
    return all(re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels)


def compare(url, ours, node):
    """Which of the kinds this was, for the count."""
    if ours.startswith("refused"):
        if node is not None and node["scheme"] in ("http:", "https:"):
            check(not is_plain(url, node), f"{url!r} is refused ({ours}); Node reads {node}")
        return "refused"
    check(node is not None, f"{url!r} is {ours}, and Node does not read it")
    scheme, host, port = ours.split(" ")
    equal((scheme, host, int(port)), of_node(node), f"{url!r}, against Node")
    equal((scheme, host, int(port)), of_python(url), f"{url!r}, against Python")
    check(not is_local(host), f"{url!r} is accepted, and {host} is not public")
    return "accepted"


def register(suite):
    @suite.test("URLs that are accepted are read alike by Node and Python")
    def _(_box):
        node = shutil.which("node")
        if not suite.urls:
            raise Skip("the build has no program for URLs")
        if node is None:
            raise Skip("node is not installed")
        chance = random.Random(suite.seed)
        urls = [random_url(chance) for _ in range(suite.patterns * 4)]
        count = {"refused": 0, "accepted": 0}
        for url, ours, theirs in zip(urls, answers([suite.urls], urls), answers([node, "-e", NODE], urls)):
            count[compare(url, ours, json.loads(theirs))] += 1
        check(min(count.values()) > len(urls) / 50, f"too few of a kind: {count}")
