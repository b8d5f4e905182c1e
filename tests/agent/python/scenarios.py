#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways to change the current span: scenarios.py NAME; run by the SDK's Python under the agent.

Prints how often the published span was right, none (and rightly so), unknown, missing and
wrong.  Exit code 77 if the scenario cannot run here.
"""
import asyncio
import concurrent.futures
import contextlib
import contextvars
import json
import os
import sys
import threading
import time

from opentelemetry import context, trace
from opentelemetry.context import attach, detach  # before the agent hooks anything
from opentelemetry.sdk.trace import TracerProvider

from published import Probe

STEPS = 7
TASKS = 11
TRACER = TracerProvider().get_tracer("scenarios")
probe = Probe()


@contextlib.contextmanager
def span(name="span"):
    probe()
    with TRACER.start_as_current_span(name) as started:
        probe()
        yield started
        probe()
    probe()


def nested():
    with span(), span():
        with contextlib.suppress(ValueError), span():
            raise ValueError
        token = attach(context.Context())
        probe()
        detach(token)
        probe()
        detach(token)  # used twice: the API logs that, without effect
        probe()
        with trace.use_span(trace.INVALID_SPAN):
            probe()


def remote():
    """The remote parent of a request is not published."""
    parent = trace.NonRecordingSpan(trace.SpanContext(7, 9, True, trace.TraceFlags(1)))
    with trace.use_span(parent):
        probe()
        with span():
            pass


def generators():
    def numbers():
        with span():
            for i in range(STEPS):
                yield i

    with span():
        for _ in numbers():
            probe()
        half = numbers()
        next(half)
        probe()
        half.close()
        probe()


def contexts():
    empty = contextvars.Context()
    with span():
        copy = contextvars.copy_context()
        empty.run(probe)
        for _ in range(STEPS):
            with span(), contextlib.suppress(ZeroDivisionError):
                copy.run(lambda: (probe(), 1 / 0))
            with contextlib.suppress(TypeError):
                copy.run()
            probe()
    copy.run(copy.copy().run, probe)
    copy.run(lambda: attach(context.Context()))
    copy.run(probe)
    probe()


def threads():
    def work():
        for _ in range(STEPS):
            with span():
                time.sleep(0.001)

    with span(), concurrent.futures.ThreadPoolExecutor(3) as pool:
        others = [threading.Thread(target=work) for _ in range(3)]
        for thread in others:
            thread.start()
        list(pool.map(lambda _: contextvars.copy_context().run(work), range(TASKS)))
        list(pool.map(lambda copy: copy.run(work), [contextvars.copy_context() for _ in range(TASKS)]))
        for thread in others:
            thread.join()


async def steps():
    with span():
        for i in range(STEPS):
            await asyncio.sleep(0.001 if i % 3 else 0)
            probe()
            with span():
                await asyncio.sleep(0)


async def mixed_tasks():
    loop = asyncio.get_running_loop()
    probe()
    with span():
        tasks = [asyncio.create_task(steps()) for _ in range(TASKS)]
        probe()
        loop.call_soon(probe)
        loop.call_later(0.002, probe)
        await asyncio.to_thread(probe)
        await loop.run_in_executor(None, probe)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(steps(), 0.002)
        probe()
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        probe()
    probe()


def tasks():
    asyncio.run(mixed_tasks())
    asyncio.run(mixed_tasks(), debug=True)


def eager_tasks():
    """Their first step runs inside the call that creates them."""
    if not hasattr(asyncio, "eager_task_factory"):
        skip("this Python has no eager tasks")

    async def eager():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await mixed_tasks()

    asyncio.run(eager())


def uvloop():
    module = need("uvloop")
    loop = module.new_event_loop()
    loop.run_until_complete(mixed_tasks())
    loop.close()
    with span():
        pass


def trio():
    module = need("trio")

    async def work():
        with span():
            for _ in range(STEPS):
                await module.sleep(0)
                probe()

    async def main():
        async with module.open_nursery() as nursery:
            for _ in range(TASKS):
                nursery.start_soon(work)

    module.run(main)


def greenlets():
    module = need("greenlet")
    main = module.getcurrent()

    def work():
        probe()
        for _ in range(STEPS):
            with span():
                main.switch()
                probe()

    workers = [module.greenlet(work) for _ in range(TASKS)]
    with span():
        while any(not worker.dead for worker in workers):
            for worker in workers:
                worker.switch()
                probe()


def gevent():
    module = need("gevent")

    def work():
        probe()
        for _ in range(STEPS):
            with span():
                module.sleep(0)
                probe()
                module.sleep(0.001)

    with span():
        workers = [module.spawn(work) for _ in range(TASKS)]
        probe()
        workers[0].kill()
        probe()
        module.joinall(workers)
        probe()


def forks():
    with span():
        for _ in range(STEPS):
            with span():
                child = os.fork()
                probe()
                if not child:
                    with span():
                        pass
                    os._exit(probe.counts["wrong"] + probe.counts["missing"])
                probe.counts["wrong"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def need(name):
    try:
        return __import__(name)
    except ImportError:
        skip(f"{name} is not installed")


def skip(reason):
    print(reason)
    sys.exit(77)


SCENARIOS = [nested, remote, generators, contexts, threads, tasks, eager_tasks, uvloop, trio, greenlets, gevent, forks]

if __name__ == "__main__":
    {scenario.__name__: scenario for scenario in SCENARIOS}[sys.argv[1]]()
    print(json.dumps(probe.counts))
