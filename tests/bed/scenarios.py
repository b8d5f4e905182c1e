# SPDX-License-Identifier: Apache-2.0
"""The scenarios: their services, which service calls which, and how.

A service follows the services that it calls.  The pattern of a service is the way in which its
calls can be attributed to requests; results are grouped by pattern.
"""
import dataclasses

MODELS = ("thread", "prefork", "fork", "spawn", "pool", "pool-handback", "loop")
LEVELS = (1, 8, 64)  # concurrent connections
COUNTS = {1: 61, 8: 211, 64: 409}  # number of requests, by level

SAME_THREAD, FORK, IDLE, SATURATED, LOOP, PROXY = (
    "same thread", "fork", "idle pool", "saturated pool", "event loop", "proxy")
PATTERNS = (SAME_THREAD, FORK, IDLE, SATURATED, LOOP, PROXY)

WORK = ("--work=30us-150us",)
LEAF = ("--work=20us-50us", "--sleep=100us-1500us")


@dataclasses.dataclass
class Service:
    name: str
    model: str  # of bed-service, or nginx, redis, postgres
    calls: tuple = ()
    options: tuple = ()
    pattern: str = SAME_THREAD
    keep_alive: bool = True


@dataclasses.dataclass
class Scenario:
    name: str
    services: list  # the client calls the last one
    connections: int = 1
    count: int = 61
    keep_alive: bool = True
    client: tuple = ()

    def needs(self):
        programs = {"nginx": "nginx", "redis": "redis-server", "postgres": "postgres"}
        return sorted({programs[s.model] for s in self.services if s.model in programs})


def workers(model, level, idle=True):
    """The number of workers for a number of connections."""
    if model == "prefork":
        return max(2, level)
    return 2 * level + 2 if idle else max(1, level // 8)


def pattern_of(model, idle=True):
    if model.startswith("pool"):
        return IDLE if idle else SATURATED
    return {"fork": FORK, "spawn": FORK, "loop": LOOP}.get(model, SAME_THREAD)


def service(name, model, level, calls=(), idle=True, keep_alive=True, options=WORK):
    return Service(name, model, calls, (f"--workers={workers(model, level, idle)}", *options),
                   pattern_of(model, idle), keep_alive)


def leaf(name="leaf", keep_alive=True):
    return Service(name, "thread", (), LEAF, SAME_THREAD, keep_alive)


def scenario(name, services, level, keep_alive=True, client=(), count=None):
    return Scenario(name, services, level, count or COUNTS[level], keep_alive, client)


def suffix(level, keep_alive):
    return f"{level}{'' if keep_alive else '-anew'}"


def chain(model, level, keep_alive=True, idle=True, options=(), client=(), name=None):
    """front calls mid, which calls leaf; then front calls leaf itself."""
    busy = "" if idle else "-saturated"
    mid_level = level if idle else max(1, level // 4)
    services = [leaf(keep_alive=keep_alive),
                service("mid", model, mid_level, ("leaf",), idle, keep_alive, WORK + options),
                service("front", model, level, ("mid", "leaf"), idle, keep_alive, WORK + options)]
    return scenario(name or f"{model}{busy}-{suffix(level, keep_alive)}", services, level, keep_alive, client)


def fan(model, level, parallel, keep_alive=True):
    """front calls three services at once."""
    names = ("one", "two", "three")
    front = service("front", model, level, names, True, keep_alive, (*WORK, f"--parallel={parallel}"))
    if parallel == "threads":
        front.pattern = FORK
    return scenario(f"fan-{model}-{parallel}-{suffix(level, keep_alive)}",
                    [leaf(n, keep_alive) for n in names] + [front], level, keep_alive)


def deep(level, keep_alive=True):
    """A chain of five services, each of another model."""
    models = ("fork", "prefork", "pool", "loop", "thread")
    services, below = [], ()
    for i, model in enumerate(models):
        one = service(f"s{len(models) - i}", model, level, below, True, keep_alive, WORK)
        services.append(one)
        below = (one.name,)
    return scenario(f"deep-{suffix(level, keep_alive)}", services, level, keep_alive)


def proxy_in_front(model, level, keep_alive=True):
    """nginx calls front, which calls leaf twice."""
    services = [leaf(keep_alive=keep_alive),
                service("front", model, level, ("leaf", "leaf"), True, keep_alive),
                Service("proxy", "nginx", ("front",), (), PROXY, keep_alive)]
    return scenario(f"nginx-{model}-{suffix(level, keep_alive)}", services, level, keep_alive)


def proxy_between(model, level, keep_alive=True):
    """front calls nginx, which calls leaf."""
    services = [leaf(keep_alive=keep_alive),
                Service("proxy", "nginx", ("leaf",), (), PROXY, keep_alive),
                service("front", model, level, ("proxy", "leaf"), True, keep_alive)]
    return scenario(f"{model}-nginx-{suffix(level, keep_alive)}", services, level, keep_alive)


def stores(model, level, keep_alive=True):
    """front calls redis, PostgreSQL and leaf."""
    services = [leaf(keep_alive=keep_alive), Service("redis", "redis"), Service("postgres", "postgres"),
                service("front", model, level, ("redis", "postgres", "leaf"), True, keep_alive)]
    return scenario(f"stores-{model}-{suffix(level, keep_alive)}", services, level, keep_alive)


def matrix():
    for model in MODELS:
        for keep_alive in (True, False):
            for level in LEVELS:
                yield chain(model, level, keep_alive)
                if model.startswith("pool") and level > 1:
                    yield chain(model, level, keep_alive, idle=False)


def ways():
    """Ways to hand off work, to send and to split messages."""
    for by in ("eventfd", "pipe"):
        yield chain("pool", 8, options=(f"--queue={by}",), name=f"pool-by-{by}-8")
        yield chain("pool-handback", 8, options=(f"--queue={by}", f"--handback={by}"),
                    name=f"pool-handback-by-{by}-8")
    for way in ("write", "writev", "sendmsg", "sendfile", "splice"):
        yield chain("thread", 8, options=(f"--way={way}",), name=f"thread-by-{way}-8")
    for model in ("thread", "loop", "pool"):
        yield chain(model, 8, options=("--pieces=3", "--read-size=17", "--bytes=5000"), client=("--pieces=3",),
                    name=f"{model}-pieces-8")
        yield chain(model, 8, client=("--pipeline=4",), name=f"{model}-pipeline-8")
        yield chain(model, 8, client=("--warm=2",), name=f"{model}-warm-8")
    yield chain("thread", 8, options=("--lock=50us",), name="thread-lock-8")
    for level in (8, 64):  # work after a timer follows no message
        yield chain("loop", level, options=("--sleep=100us-1ms",), name=f"loop-sleep-{level}")
    for model in ("thread", "loop"):
        yield chain(model, 8, options=("--listen=[::1]:0",), name=f"{model}-ipv6-8")
        yield chain(model, 8, options=("--listen=unix",), name=f"{model}-unix-8")


def others():
    for model in ("thread", "loop"):
        for keep_alive in (True, False):
            for level in LEVELS:
                yield proxy_in_front(model, level, keep_alive)
            yield proxy_between(model, 8, keep_alive)
    for model in ("thread", "loop", "pool"):
        for level in LEVELS:
            yield stores(model, level)
        yield stores(model, 8, False)
    for level in LEVELS:
        yield fan("thread", level, "send")
        yield fan("thread", level, "threads")
        yield fan("loop", level, "send")
        yield deep(level)
    yield fan("loop", 8, "send", False)
    yield deep(8, False)


def every():
    return {s.name: s for s in (*matrix(), *ways(), *others())}
