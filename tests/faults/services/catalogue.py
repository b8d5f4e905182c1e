# SPDX-License-Identifier: Apache-2.0
"""catalogue PORT - a catalogue with FastAPI; a task refreshes its prices with a blocking call."""
import asyncio
import contextlib
import sys
import time

import fastapi
import uvicorn

prices = {}


def fetch_prices():
    time.sleep(0.15)  # a client library that retries
    prices.update({number: number * 3 for number in range(100)})


async def refresh():
    while True:
        await asyncio.sleep(0.7)
        fetch_prices()


@contextlib.asynccontextmanager
async def lifespan(_):
    task = asyncio.create_task(refresh())
    yield
    task.cancel()


app = fastapi.FastAPI(lifespan=lifespan)


@app.get("/item/{number}")
async def item(number: int):
    return {"item": number, "price": prices.get(number)}


uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
