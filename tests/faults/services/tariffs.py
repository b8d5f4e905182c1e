# SPDX-License-Identifier: Apache-2.0
"""tariffs PORT BACKEND - tariffs of a backend, which permits one call at a time."""
import asyncio
import sys

import fastapi
import uvicorn

app = fastapi.FastAPI()
limit = asyncio.Semaphore(1)


@app.get("/")
async def tariff():
    async with limit:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        writer.write(b"GET /tariff HTTP/1.1\r\n\r\n")
        reply = await reader.readuntil(b"/tariff")
        writer.close()
    return {"size": len(reply)}


uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
