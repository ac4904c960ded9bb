# SPDX-License-Identifier: Apache-2.0
"""The static programs that a test machine gets: corral, its daemon, the probe of the escape suite, and init.

For this machine's own architecture they are the ones of the build; for another
they are built once more, with Debian's cross compiler and its archives of that
architecture unpacked into a directory of their own.
"""
import os
import subprocess

import debian

TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "riscv64": "riscv64-linux-gnu"}
FAMILIES = {"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64"}
# The release that has the architecture, where this machine's own does not.
RELEASES = {"riscv64": "trixie"}
LIBRARIES = ("libjansson-dev", "libyaml-dev", "libsodium-dev", "libsqlite3-dev", "zlib1g-dev")
# Archives of a newer release call functions that the C library of the cross compiler lacks: jansson of Debian 13 the
# strtoll() of C23, which also reads binary digits.
RENAMED = {"riscv64": ", '-Wl,--defsym=__isoc23_strtoll=strtoll'"}
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))

CROSS = """[binaries]
c = '{triple}-gcc'
ar = '{triple}-ar'
strip = '{triple}-strip'
pkgconfig = 'pkg-config'
[built-in options]
c_args = ['-isystem', '{root}/usr/include']
c_link_args = ['-L{root}/usr/lib/{triple}'{renamed}]
[properties]
sys_root = '{root}'
pkg_config_libdir = '{root}/usr/lib/{triple}/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = 'little'
"""


def release(architecture):
    return RELEASES.get(architecture) or debian.machine_archive()[1]


def own_architecture():
    return subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def call(*argv):
    done = subprocess.run(argv, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise debian.Missing(f"{argv[0]}: {' '.join(done.stdout.split())[-400:]}")


def cross_build(architecture, place, apt):
    """A build of corral and the probe for another architecture; its directory."""
    triple, root, build = TRIPLES[architecture], f"{place}/libraries-{architecture}", f"{place}/build-{architecture}"
    for name in LIBRARIES:
        debian.unpack(apt.alone(name), root)
    path = f"{place}/{architecture}.ini"
    with open(path, "w", encoding="utf-8") as out:
        out.write(CROSS.format(triple=triple, root=root, family=FAMILIES[architecture], renamed=RENAMED.get(architecture, "")))
    if not os.path.exists(f"{build}/build.ninja"):
        call("meson", "setup", build, TREE, "--cross-file", path, "-Dwerror=false")
    call("ninja", "-C", build, "corral", "corrald", "tests/escape/probe")
    return build


def make(architecture, place, build, apt):
    """Paths of corral, probe and init for an architecture."""
    compiler = "gcc"
    if architecture != own_architecture():
        build = cross_build(architecture, place, apt)
        compiler = f"{TRIPLES[architecture]}-gcc"
    init = f"{place}/init-{architecture}"
    call(compiler, "-static", "-O1", "-Wall", "-o", init, f"{HERE}/init.c")
    return f"{build}/corral", f"{build}/tests/escape/probe", init
