# SPDX-License-Identifier: Apache-2.0
"""An emulated guest: a Debian kernel, a root file system in memory, two disks.

Nothing is installed and no privileges are needed.  The kernel comes from Debian's
package and is cached in the build directory.  The root is an initramfs (cpio,
"newc") with busybox, the programs and their libraries.  The emulator runs the CPUs
alternately: with parallel CPUs, it can execute stale code after the kernel has
patched it, which happens when attaching to a tracepoint.
"""
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile

# Modules for a disk, besides those that they depend on; some kernels have them built in.  ext4
# needs crc32c at run time, which it does not state as a dependency.
MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")

PATIENCE = 300  # seconds for a step, such as to fetch the kernel


class Missing(Exception):
    """A required program or package is missing."""


def program(name, package):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path:
        raise Missing(f"there is no {name}; install the package {package}")
    return path


def ask(*command, **how):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **how)
    except subprocess.TimeoutExpired as e:
        raise Missing(f"'{' '.join(map(str, command))}' takes longer than {PATIENCE} s") from e
    if done.returncode != 0:
        raise Missing(f"'{' '.join(map(str, command))}' fails: {done.stderr.strip()[-300:]}")
    return done.stdout


# The kernel

def download(folder, metapackage="linux-image-amd64"):
    """Download the kernel of a Debian metapackage; returns its directory."""
    lines = ask(program("apt-cache", "apt"), "depends", metapackage).splitlines()
    names = [line.split()[-1] for line in lines if "Depends: linux-image-" in line]
    if not names:
        raise Missing(f"apt has no kernel package '{metapackage}'")
    kernel = folder / names[0]
    if not kernel.exists():
        ask("apt-get", "-q", "download", names[0], cwd=folder)
        packages = list(folder.glob(f"{names[0]}_*.deb"))
        unpack(packages, kernel)
        for package in packages:
            package.unlink()
    return kernel


def unpack(packages, kernel):
    """Extract the kernel and the required modules from its packages."""
    part = kernel.with_name(kernel.name + ".part")  # renamed when complete
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    missing, tried = set(MODULES), set()
    while missing:  # once per level of dependencies: which modules depend on which varies
        for package in packages:
            extract(package, missing, part)
        tried |= missing
        missing = {name for path in part.glob("*.ko") for name in dependencies(path)} - tried
    if not (part / "vmlinuz").exists():
        raise Missing(f"there is no kernel in {', '.join(map(str, packages))}")
    part.rename(kernel)


def extract(package, names, folder):
    """Extract the kernel, and the modules with these names, from a package."""
    with subprocess.Popen([program("dpkg-deb", "dpkg"), "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as tar:
        with tarfile.open(fileobj=tar.stdout, mode="r|") as archive:
            for member in archive:
                keep(archive, member, names, folder)


def keep(archive, member, names, folder):
    name = pathlib.PurePath(member.name).name
    stem = name.partition(".ko")[0]
    if name.startswith("vmlinuz") and member.isfile():
        (folder / "vmlinuz").write_bytes(archive.extractfile(member).read())
    elif ".ko" in name and stem.replace("-", "_") in names:
        data = archive.extractfile(member).read()
        path = folder / f"{stem.replace('-', '_')}.ko"
        path.write_bytes(lzma.decompress(data) if name.endswith(".xz") else data)


def dependencies(module):
    """The names of the modules that a module needs, as it states them itself."""
    stated = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    return stated[1].decode().replace("-", "_").split(",") if stated and stated[1] else []


def modules(kernel):
    """The existing modules, in the order to load them."""
    order = []

    def add(name):
        path = kernel / f"{name}.ko"
        if path in order or not path.exists():
            return
        for needed in dependencies(path):
            add(needed)
        order.append(path)

    for name in MODULES:
        add(name)
    return order


# The root

def libraries(path):
    """The shared libraries of a program."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=PATIENCE)
    words = [word for line in done.stdout.splitlines() for word in line.split()]
    return sorted({word for word in words if word.startswith("/")})


class Archive:
    """A cpio archive; parent directories are added automatically."""

    def __init__(self):
        self.data = bytearray()
        self.names = {"/"}

    def entry(self, name, mode, content):
        self.names.add(name)
        path = name.lstrip("/").encode() + b"\0"
        fields = [len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        self.data += b"070701" + b"".join(b"%08X" % f for f in fields) + path
        self.data += bytes(-len(self.data) % 4) + content
        self.data += bytes(-len(self.data) % 4)

    def add(self, name, content):
        for folder in map(str, reversed(pathlib.PurePath(name).parents)):
            if folder not in self.names:
                self.entry(folder, stat.S_IFDIR | 0o755, b"")
        self.entry(name, stat.S_IFREG | 0o755, content)

    def add_program(self, name, path):
        """Add a program, and its libraries at their paths on this host."""
        self.add(name, pathlib.Path(path).read_bytes())
        for library in libraries(path):
            if library not in self.names:
                self.add(library, pathlib.Path(library).read_bytes())

    def write(self, path):
        self.entry("TRAILER!!!", 0, b"")
        path.write_bytes(self.data)


# The machine

def make_disk(path, size):
    with open(path, "wb") as f:
        f.truncate(size)


def make_file_system(disk):
    ask(program("mke2fs", "e2fsprogs"), "-q", "-t", "ext4", disk)


def boot(kernel, root, disks, console, timeout):
    """Run until it powers off; the disks are /dev/vda and so on."""
    command = [program("qemu-system-x86_64", "qemu-system-x86"), "-accel", "tcg,thread=single",
               "-cpu", "max", "-m", "1G", "-smp", "2", "-nodefaults", "-display", "none", "-no-reboot",
               "-serial", f"file:{console}", "-kernel", kernel / "vmlinuz", "-initrd", root,
               "-append", "console=ttyS0 panic=-1 quiet"]
    for disk in disks:
        command += ["-drive", f"file={disk},format=raw,if=virtio"]
    subprocess.run(command, timeout=timeout, check=True)
