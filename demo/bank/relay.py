# SPDX-License-Identifier: Apache-2.0
"""relay.py PORT TO DELAY - passes bytes on to port TO, each DELAY seconds late: a network that is far.

The kernel could do that too, but only for root and not everywhere.
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


async def pass_on(reader, writer):
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", to)
    await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))


async def main():
    server = await asyncio.start_server(pass_on, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())
