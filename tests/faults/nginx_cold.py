# SPDX-License-Identifier: Apache-2.0
"""nginx serves clips from a disk that reads 8 MiB/s; most are not in the page cache, and its worker waits for the disk."""
import os

import runtimes
import services

NEEDS = ["nginx"]
TRUTH = r"nginx.*(read|page|sendfile|disk).*\.mp4"
PARTLY = r"nginx.*(\breads?\b|\bpage\b|sendfile|disk)|\.mp4"
CLIPS, SIZE = 256, 256 << 10
RATE = 8 << 20  # bytes/s of the disk
# Each request gets one of the clips at random.
CHOICE = "sendfile on; map $request_id $clip { ~^(?<two>[0-9a-f][0-9a-f]) $two; }"


def make_clips(directory):
    """Write the clips, and evict them from the page cache."""
    directory.mkdir()
    paths = [directory / f"{number:02x}.mp4" for number in range(CLIPS)]
    part = os.urandom(SIZE)
    for path in paths:
        path.write_bytes(part)
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def start(lab):
    clips = lab.directory / "clips"
    make_clips(clips)
    slow_disk = lab.limited("io", io_max=f"{services.disk_of(clips)} rbps={RATE}")
    return runtimes.nginx(lab, f"root {clips}; try_files /$clip.mp4 =404;", CHOICE, slow_disk)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=60)
