# SPDX-License-Identifier: Apache-2.0
"""relay.py PORT TO DELAY - forward connections to port TO, with a delay of DELAY seconds.

This simulates a slow network.  tc(8) needs root and kernel support.
"""
import asyncio
import contextlib
import sys

port, to, delay = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


async def pump(reader, writer):
    with contextlib.suppress(ConnectionError):
        while block := await reader.read(65536):
            await asyncio.sleep(delay)
            writer.write(block)
            await writer.drain()
    writer.close()


async def forward(reader, writer):
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", to)
    await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))


async def main():
    server = await asyncio.start_server(forward, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())
