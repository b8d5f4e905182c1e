# SPDX-License-Identifier: Apache-2.0
"""relay.py FAULTS LINK=PORT:TO... - forward connections to other ports over a slow network.

With a file delay@LINK in the directory FAULTS, each block is late by that number of ms, 30 if the
file is empty.  With loss@LINK, that percentage of the blocks, 10 if the file is empty, is late by
200 ms, as the retransmission of a lost segment is.  tc(8) needs root and kernel support.
"""
import asyncio
import contextlib
import pathlib
import random
import sys

DELAY = 30  # ms
LOSS = 10  # per cent of the blocks
RETRANSMISSION = 0.2  # seconds: the smallest timeout of TCP
faults = pathlib.Path(sys.argv[1])
chance = random.Random(1)


def strength(name, default):
    """The number in the file of a fault; None if the fault is not injected."""
    try:
        return float((faults / name).read_text() or default)
    except FileNotFoundError:
        return None


def lateness(link):
    """Seconds by which the next block of a link is late; the fault `delay` of the demo is a delay of balance."""
    loss = strength(f"loss@{link}", LOSS)
    if loss is not None:
        return RETRANSMISSION if chance.random() < loss / 100 else 0
    delay = strength(f"delay@{link}", DELAY)
    if delay is None and link == "balance":
        delay = strength("delay", DELAY)
    return (delay or 0) / 1000


async def pump(link, reader, writer):
    with contextlib.suppress(ConnectionError):
        while block := await reader.read(65536):
            if late := lateness(link):
                await asyncio.sleep(late)
            writer.write(block)
            await writer.drain()
    writer.close()


def forwarding(link, to):
    async def forward(reader, writer):
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(pump(link, reader, there_writer), pump(link, there_reader, writer))
    return forward


async def main():
    servers = []
    for argument in sys.argv[2:]:
        link, _, ports = argument.partition("=")
        port, _, to = ports.partition(":")
        servers.append(await asyncio.start_server(forwarding(link, int(to)), "127.0.0.1", int(port)))
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
