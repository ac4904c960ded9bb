# SPDX-License-Identifier: Apache-2.0
"""The emulator: Debian's newest qemu for this release, unpacked beside the machines it will run.

The release's own qemu 7.2 loses the flags of an emulated processor now and then
under kernels from 6.12 on: rows end with a segmentation fault, and the kernel with
a panic.  So the one of the release's backports is used, with its own loader and its
own libraries; what is installed on the machine does not matter.
"""
import debian
import image

PACKAGES = {"amd64": "qemu-system-x86", "arm64": "qemu-system-arm", "riscv64": "qemu-system-misc"}
SBI = "opensbi"  # the firmware of riscv64
FIRMWARE = ("qemu", "seabios")


def unpack(place, own):
    """Unpacks the emulators of all architectures, once; the directory."""
    suite = debian.machine_archive()[1]
    apt = debian.Apt(f"{place}/apt", [suite, f"{suite}-backports"], own)
    apt.update()
    try:
        packages = apt.with_dependencies(["-t", f"{suite}-backports", *PACKAGES.values(), SBI])
    except debian.Missing:  # a release that has no backports yet
        packages = apt.with_dependencies([*PACKAGES.values(), SBI])
    root = f"{place}/emulator"
    if image.stale(root, packages):
        image.make_tree(packages, root)
        image.stamp(root, packages)
    return root


def command(root, name):
    """The words that start an emulator which is not installed."""
    words = image.foreign(root, name)
    for folder in FIRMWARE:
        words += ["-L", f"{root}/usr/share/{folder}"]
    return words


def modules(words):
    """Where an emulator that command() starts finds its own parts."""
    return f"{words[words.index('--library-path') + 1].split(':')[0]}/qemu"
