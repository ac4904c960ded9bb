# SPDX-License-Identifier: Apache-2.0
"""The lab's internet as data: who lives where, and what the name server says.

Public-looking addresses, because what is not public is refused; 11.0.0.0/8 and
2a00::/12 are nobody's here.  The private ones exist as well: an answer that leads
there has to lead somewhere, or its refusal proves nothing.
"""

HOST4, HOST6 = "11.0.0.1", "2a00:11::1"  # the machine on which corral runs
HOST4_SECOND = "11.0.0.3"  # of the same interface
HOST6_NETWORK = "2a00:11:0:9::/64"  # a network of which every address is the machine's
DNS4, DNS6 = "11.0.0.2", "2a00:11::2"
SPEAKS_FIRST = "11.0.0.14"  # whatever the port

PUBLIC4 = (DNS4, "11.0.0.10", "11.0.0.11", "11.0.0.12", "11.0.0.13", SPEAKS_FIRST, "11.0.0.66")
PUBLIC6 = (DNS6, "2a00:11::10", "2a00:11::11", "2a00:11::12", "2a00:11::66")

LINK = "fe80::66"  # of the cable, for whoever names his end of it: up0

# What an allowed name must not lead to, one of every kind that can be routed at all.
HIDDEN4 = ("10.9.0.5", "172.16.9.5", "192.168.9.5", "100.64.9.5", "169.254.169.254", "100.100.100.200", "198.18.9.5",
           "192.0.0.9", "192.0.2.5", "198.51.100.5", "203.0.113.5")
HIDDEN6 = ("fd00:ec2::254", "fc00:9::5", "64:ff9b::b00:42", "2002:b00:42::1", "2001:db8::5")

# name → (IPv4, IPv6); "*." stands for any labels.
ADDRESSES = {
    "allowed.test": (("11.0.0.10",), ("2a00:11::10",)),
    "ok.test": (("11.0.0.11",), ("2a00:11::11",)),
    "*.ok.test": (("11.0.0.11",), ("2a00:11::11",)),
    "first.ok.test": ((SPEAKS_FIRST,), ()),
    # A content network: both names, one address.
    "cdn.test": (("11.0.0.12",), ("2a00:11::12",)),
    "evil-cdn.test": (("11.0.0.12",), ("2a00:11::12",)),
    "short.search.test": (("11.0.0.10",), ("2a00:11::10",)),
    "four.test": (("11.0.0.13",), ()),
    "six.test": ((), ("2a00:11::11",)),
    # Nobody answers at the first address of these.
    "half.test": (("11.0.0.10",), ("2a00:11::dead",)),
    "evil.test": (("11.0.0.66",), ("2a00:11::66",)),
    "*.evil.test": (("11.0.0.66",), ("2a00:11::66",)),
    # Names that only look like allowed ones.
    "evilok.test": (("11.0.0.66",), ()),
    "xok.test": (("11.0.0.66",), ()),
    "*.allowed.test": (("11.0.0.66",), ()),
    "allowed.test.evil.test": (("11.0.0.66",), ()),
    "xn--llowed-8nf.test": (("11.0.0.66",), ()),
    "metadata.google.internal": (("169.254.169.254",), ()),
}

ALIASES = {
    "alias.test": "alias.ok.test",
    "alias.ok.test": "allowed.test",
    "to-evil.ok.test": "evil.test",
    "round.ok.test": "and-round.ok.test",
    "and-round.ok.test": "round.ok.test",
}

# What the certificate is good for.
CERTIFIED = ("allowed.test", "ok.test", "*.ok.test", "cdn.test", "evil-cdn.test", "four.test", "six.test", "half.test",
             "alias.test", "evil.test", "*.evil.test", "*.dns.test", "evilok.test", "xok.test")

HTTP, HTTPS, HTTP2 = (80, 8080), (443, 8443, 853), 8444
SSH, POSTGRES, REDIS = 22, 5432, 6379
GIT, RSYNC, MYSQL, RPC, RPC_PLAIN = 9418, 873, 3306, 50051, 50052
SMTP, ECHO, DISCARD, BULK = 25, 7, 9, 19
REFUSES, RESETS, HALF_CLOSES, STALLS, COUNTS = 7001, 7002, 7003, 7004, 7006
DATAGRAMS = (443, 9999)

# The files of the machine on which corral runs.
RESOLV_CONF = f"nameserver {DNS4}\nsearch search.test\noptions timeout:1 attempts:2\n"
HOSTS = f"127.0.0.1 localhost\n::1 localhost\n{HOST4} machine.test\n11.0.0.10 listed.test\n10.9.0.5 listed-private.test\n"
NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"
