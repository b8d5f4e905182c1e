# SPDX-License-Identifier: Apache-2.0
"""The true requests of a scenario, from the logs of its services.

A handling is a request in one service.  bed-service logs its handlings.  Those of redis and
PostgreSQL follow from the logs of their callers, and those of nginx from its access log and
the logs of the services on both sides.
"""
import dataclasses
import json
import pathlib


@dataclasses.dataclass(eq=False)
class Handling:
    service: dict  # as in scenario.json
    id: str
    hop: str
    pid: int
    local: str
    peer: str
    begin: int  # the handling lies within this time, in ns
    end: int
    log: dict = None  # the log entry of a bed-service
    parent: "Handling" = None
    calls: list = dataclasses.field(default_factory=list)  # as logged

    @property
    def entry(self):
        return self.parent is None

    def __repr__(self):
        return f"{self.id}/{self.hop} in {self.service['name']}"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Truth:
    """All handlings of a scenario during the recording, with their parents."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        scenario = json.loads((self.directory / "scenario.json").read_text())
        self.name, self.services = scenario["name"], scenario["services"]
        self.client = [e for e in lines(self.directory / "client.log") if e["id"].startswith("r")]
        self.handlings = []
        self.logged = {}  # (id, hop) -> handling of a bed-service
        for service in self.services:
            path = self.directory / f"{service['name']}.log"
            for entry in lines(path) if path.exists() else ():
                self.add(service, entry)
        self.calls = {(e["id"], "0"): (None, e["calls"][0]) for e in self.client}
        for handling in list(self.handlings):
            for i, call in enumerate(handling.calls):
                self.calls[handling.id, f"{handling.hop}.{i}"] = (handling, call)
        self.find_stores()
        self.find_proxies()
        self.find_parents()

    def add(self, service, entry):
        if not entry["id"].startswith("r"):
            return
        handling = Handling(service, entry["id"], entry["hop"], entry["pid"], entry["local"], entry["peer"],
                            entry["read"], entry["replied"], entry, calls=entry["calls"])
        self.handlings.append(handling)
        self.logged[handling.id, handling.hop] = handling

    def find_stores(self):
        """Add the handlings of redis and PostgreSQL, from the calls to them."""
        by_model = {s["model"]: s for s in self.services}
        for (id, hop), (caller, call) in self.calls.items():
            if call["wire"] == "http":
                continue
            service = by_model[call["wire"]]
            store = Handling(service, id, hop, call["server"] or service["pid"], call["peer"], call["local"],
                             call["sending"], call["replied"], parent=caller)
            self.handlings.append(store)

    def find_proxies(self):
        """Add the handlings of nginx, from its access log: PID /ID/HOP ADDRESS."""
        self.proxies = {}  # (id, hop)
        for service in self.services:
            path = self.directory / f"{service['name']}.access"
            for line in path.read_text().splitlines() if path.exists() else ():
                pid, uri, peer = line.split()
                _, id, hop = uri.split("/")
                if (id, hop) not in self.calls:
                    continue  # before the recording
                caller, call = self.calls[id, hop]
                proxy = Handling(service, id, hop, int(pid), service["address"], peer, call["sending"],
                                 call["replied"], parent=caller)
                self.handlings.append(proxy)
                self.proxies[id, hop] = proxy

    def find_parents(self):
        """Find parents by the path of the request, and check them by the sockets."""
        for key, handling in self.logged.items():
            caller, call = self.calls[key]
            direct = (call["local"], call["peer"]) == (handling.peer, handling.local)
            if not direct and key not in self.proxies:
                raise ValueError(f"{handling} came from {handling.peer}, but no service sent it there")
            handling.parent = caller if direct else self.proxies[key]
