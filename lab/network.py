# SPDX-License-Identifier: Apache-2.0
"""A network between the services of the lab, which can delay and lose packets.

    network.py DEVICE FAULTS LINK=ADDRESS:PORT...

Kernels often lack netem.  This program is the cable of a TUN device: the kernel routes packets to the
addresses of NETWORK into the device, although they are local, and this program writes them back, late or
never.  So a fault of the network adds no process to the path of a request, and TCP retransmits as it does
in any network.

A link is a port at an address.  With a file delay@LINK in the directory FAULTS, each of its packets is late by
that number of ms.  With loss@LINK, that percentage is lost.  `enter()` moves the calling process to a network
namespace of its own, so that routes of the host stay as they are.
"""
import ctypes
import fcntl
import heapq
import os
import pathlib
import random
import select
import struct
import subprocess
import sys
import time

NETWORK = "10.99.0"
DEVICE = "lab0"
TABLE = "100"
TUNSETIFF, IFF_TUN, IFF_NAPI, IFF_NO_PI = 0x400454CA, 1, 0x10, 0x1000
CLONE_NEWNET = 0x40000000
INTERVAL = 0.1  # seconds between looks at the directory of faults


def run(*command):
    subprocess.run(command, check=True)


def enter():
    """Enter a network namespace in which packets to NETWORK pass the device, and end up here as well."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot create a network namespace")
    run("ip", "link", "set", "lo", "up")
    run("ip", "tuntap", "add", "mode", "tun", "dev", DEVICE)
    for host in (1, 2):
        run("ip", "address", "add", f"{NETWORK}.{host}/32", "dev", DEVICE)
    run("ip", "link", "set", DEVICE, "up")
    for name, value in (("rp_filter", 0), ("accept_local", 1)):
        for where in ("all", DEVICE):
            pathlib.Path(f"/proc/sys/net/ipv4/conf/{where}/{name}").write_text(str(value))
    run("ip", "route", "add", f"{NETWORK}.0/24", "dev", DEVICE, "src", f"{NETWORK}.1", "table", TABLE)
    run("ip", "rule", "add", "pref", "5", "iif", DEVICE, "lookup", "local")
    run("ip", "rule", "add", "pref", "10", "to", f"{NETWORK}.0/24", "lookup", TABLE)
    run("ip", "rule", "add", "pref", "20", "lookup", "local")
    run("ip", "rule", "delete", "pref", "0")


def open_device(name):
    """With NAPI, an interrupt delivers packets, as with any device, instead of the process that writes them."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NAPI | IFF_NO_PI))
    return device


def link_of(packet, links):
    """The link of a TCP packet: the port and the address of its callee are at one of its ends."""
    if packet[0] >> 4 != 4 or packet[9] != 6:
        return None
    size = (packet[0] & 15) * 4
    source, target = struct.unpack_from("!HH", packet, size)
    return links.get((packet[16:20], target)) or links.get((packet[12:16], source))


def parse_links(words):
    """(address, port) -> name"""
    links = {}
    for word in words:
        name, _, place = word.partition("=")
        address, _, port = place.partition(":")
        links[bytes(map(int, address.split("."))), int(port)] = name
    return links


class Cable:
    def __init__(self, device, faults, links):
        self.device, self.faults, self.links = device, pathlib.Path(faults), links
        self.waiting, self.number = [], 0  # heap of (due, number, packet)
        self.strengths, self.looked = {}, 0.0
        self.chance = random.Random(1)

    def look(self, now):
        """Read which faults there are."""
        if now - self.looked < INTERVAL:
            return
        self.looked, self.strengths = now, {}
        for link in self.links.values():
            for fault in ("delay", "loss"):
                path = self.faults / f"{fault}@{link}"
                if path.exists():
                    self.strengths[fault, link] = float(path.read_text() or 0)

    def take(self, packet, now):
        link = link_of(packet, self.links)
        if self.chance.random() * 100 < self.strengths.get(("loss", link), 0):
            return
        due = now + self.strengths.get(("delay", link), 0) / 1e3
        self.number += 1
        heapq.heappush(self.waiting, (due, self.number, packet))

    def release(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            os.write(self.device, heapq.heappop(self.waiting)[2])

    def run(self):
        while True:
            now = time.monotonic()
            self.release(now)
            timeout = self.waiting[0][0] - now if self.waiting else INTERVAL
            ready, _, _ = select.select([self.device], [], [], max(0, min(timeout, INTERVAL)))
            now = time.monotonic()
            self.look(now)
            if ready:
                self.take(os.read(self.device, 65536), now)


if __name__ == "__main__":
    Cable(open_device(sys.argv[1]), sys.argv[2], parse_links(sys.argv[3:])).run()
