# SPDX-License-Identifier: Apache-2.0
"""What a test machine boots: a disk with a small Debian, and an initramfs that finds it.

Nothing is installed or configured: packages are unpacked, the few files that
their scripts would have made are written here, and mke2fs packs the tree.
"""
import glob
import io
import lzma
import os
import shutil
import subprocess

import debian

# What the harness and the rows use; the kernel's modules are loaded on demand by kmod.
ROOT = ("base-files", "base-passwd", "bash", "dash", "coreutils", "util-linux", "bsdutils", "mount", "procps",
        "psmisc", "findutils", "grep", "sed", "mawk", "diffutils", "tar", "gzip", "hostname", "login", "passwd",
        "libc-bin", "kmod", "iproute2", "python3", "git", "make", "perl-base", "e2fsprogs", "acl", "attr",
        "openssh-client", "netcat-openbsd", "curl", "openssl")
# What stands between the kernel and its disk.
FIRST_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
TESTS = ("escape", "kernels", "net")  # and the modules beside them
USER, USER_ID = "agent", 1000
DISK_MEGABYTES = 1200
BULK = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/i18n", "var/lib/dpkg")


def run(*argv, **more):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **more)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def stale(tree, packages):
    """Whether a tree was made of other packages than these."""
    try:
        with open(f"{tree}.packages", encoding="utf-8") as source:
            return source.read() != "\n".join(map(os.path.basename, packages))
    except FileNotFoundError:
        return True


def stamp(tree, packages):
    write(f"{tree}.packages", "\n".join(map(os.path.basename, packages)))


def make_tree(packages, root):
    """The packages' files, with the merged directories that Debian has today."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(f"{root}/usr/{name}")
        os.symlink(f"usr/{name}", f"{root}/{name}")
    for package in packages:
        unpack_merged(package, root)
    for name in BULK:
        shutil.rmtree(f"{root}/{name}", ignore_errors=True)


def foreign(root, name):
    """The words that start a program of an unpacked tree, with its own loader and libraries."""
    loader = sorted(glob.glob(f"{root}/usr/lib*/ld-linux-*.so.*") + glob.glob(f"{root}/usr/lib/*/ld-linux-*.so.*"))[0]
    libraries = ":".join(path for path in glob.glob(f"{root}/usr/lib/*-linux-gnu*") if os.path.isdir(path))
    return [loader, "--library-path", libraries, f"{root}/usr/bin/{name}"]


def python_of(root):
    """The name of the interpreter of a tree, with its version."""
    return os.path.basename(sorted(glob.glob(f"{root}/usr/bin/python3.*"))[0])


def make_root(packages, root):
    """Makes a tree of these packages that a kernel can start in; whether there was anything to do."""
    if not stale(root, packages):
        return False
    make_tree(packages, root)
    for name in ("proc", "sys", "dev", "run", "tmp", "srv", "root", "etc", "var/tmp", "home"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    accounts(root)
    alternatives(root)
    return True


def unpack_merged(package, root):
    """dpkg-deb -x replaces a link to a directory by a directory; tar can be told not to."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
    run("tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-p", "-C", root, input=data)


def accounts(root):
    for name in ("passwd", "group"):
        with open(f"{root}/usr/share/base-passwd/{name}.master", encoding="utf-8") as source:
            text = source.read()
        mine = f"{USER}:x:{USER_ID}:{USER_ID}::/home/{USER}:/bin/sh" if name == "passwd" else f"{USER}:x:{USER_ID}:"
        write(f"{root}/etc/{name}", text.replace(":*:", ":x:") + mine + "\n")
    write(f"{root}/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    write(f"{root}/etc/hostname", "machine\n")
    write(f"{root}/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    write(f"{root}/etc/shadow", "root:*:19000:0:99999:7:::\n")
    os.chmod(f"{root}/etc/shadow", 0o600)
    os.makedirs(f"{root}/home/{USER}", exist_ok=True)


def alternatives(root):
    """Links that the packages' scripts would have made."""
    for name, target in (("awk", "mawk"), ("nc", "nc.openbsd"), ("sh", "dash")):
        path = f"{root}/usr/bin/{name}"
        if not os.path.lexists(path) and os.path.exists(f"{root}/usr/bin/{target}"):
            os.symlink(target, path)
    path = f"{root}/usr/bin/python3"
    if not os.path.lexists(path):
        os.symlink(python_of(root), path)


def take_kernel(packages, place):
    """(release, the kernel's file, its tree of modules) of unpacked kernel packages."""
    shutil.rmtree(place, ignore_errors=True)
    for package in packages:
        debian.unpack(package, place)
    modules = glob.glob(f"{place}/lib/modules/*") + glob.glob(f"{place}/usr/lib/modules/*")
    images = glob.glob(f"{place}/boot/vmlinu*") + glob.glob(f"{place}/usr/lib/modules/*/vmlinu*")
    if not modules or not images:
        raise debian.Missing("the package holds no kernel")
    release = os.path.basename(modules[0])
    merged = f"{place}/merged"
    os.makedirs(f"{merged}/lib/modules")
    os.rename(modules[0], f"{merged}/lib/modules/{release}")
    run("/sbin/depmod", "-b", merged, release, stderr=subprocess.DEVNULL)
    return release, images[0].replace(modules[0], f"{merged}/lib/modules/{release}"), f"{merged}/lib/modules/{release}"


def in_order(tree, names):
    """Paths of modules, each after what it depends on; those in the kernel itself left out."""
    with open(f"{tree}/modules.dep", encoding="utf-8") as source:
        table = dict(line.strip().split(":", 1) for line in source)
    named = {os.path.basename(path).split(".")[0].replace("-", "_"): path for path in table}
    found = []
    for name in names:
        if name in named:  # listed last to first: the farthest dependency stands at the end
            path = named[name]
            found += [p for p in reversed([path] + table[path].split()) if p not in found]
    return found


def plain(path):
    """The bytes of a module, which may be packed."""
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as source:
        return source.read()


def entry(out, number, name, mode, data=b"", device=(0, 0)):
    """One file of a cpio archive in the format that the kernel reads."""
    path = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    for part in (b"070701" + b"".join(b"%08X" % field for field in fields) + path, data):
        out.write(part + b"\0" * (-len(part) % 4))


def make_initramfs(init, tree, path):
    out = io.BytesIO()
    files = [("dev", 0o40755, b"", (0, 0)), ("modules", 0o40755, b"", (0, 0)), ("dev/console", 0o20600, b"", (5, 1))]
    with open(init, "rb") as source:
        files.append(("init", 0o100755, source.read(), (0, 0)))
    for index, name in enumerate(in_order(tree, FIRST_MODULES)):
        files.append((f"modules/{index:02}", 0o100644, plain(f"{tree}/{name}"), (0, 0)))
    for number, (name, mode, data, device) in enumerate(files, 1):
        entry(out, number, name, mode, data, device)
    entry(out, 0, "TRAILER!!!", 0)
    with open(path, "wb") as target:
        target.write(out.getvalue())


def add_ours(root, programs, tests):
    """Our programs and our tests, in the root tree."""
    ours = f"{root}/corral"
    shutil.rmtree(ours, ignore_errors=True)
    os.makedirs(f"{ours}/tests")
    for program in programs:
        shutil.copy(program, ours)
    for source in glob.glob(f"{tests}/*.py"):
        shutil.copy(source, f"{ours}/tests")
    for name in TESTS:
        shutil.copytree(f"{tests}/{name}", f"{ours}/tests/{name}", ignore=shutil.ignore_patterns("__pycache__", "*.c"))


def make_disk(root, release, tree, path):
    """The root tree and this kernel's modules, as one ext4 image."""
    modules = f"{root}/usr/lib/modules"
    shutil.rmtree(modules, ignore_errors=True)
    shutil.copytree(tree, f"{modules}/{release}", symlinks=True, ignore=shutil.ignore_patterns("build", "source", "vmlinuz"))
    if os.path.exists(path):
        os.unlink(path)
    as_root = [] if os.geteuid() == 0 else ["unshare", "-r"]
    # No journal and no checksums: they are made by instructions that are slow to emulate.
    run(*as_root, "/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal,^metadata_csum", "-d", root, path,
        f"{DISK_MEGABYTES}M", stderr=subprocess.DEVNULL)
