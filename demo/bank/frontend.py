# SPDX-License-Identifier: Apache-2.0
"""frontend - the service for customers: log in, view the home page, log out.

A session is a key in redis.  For everything else, the frontend calls the other services, one
after the other.  With the fault `pool@frontend`, a process handles one request at a time, as if all
its threads shared a session of `requests`.
"""
import os
import secrets
import threading

import redis
import requests
from flask import abort, g, jsonify, request
from opentelemetry import trace

import service

SESSION_SECONDS = 600
app = service.create("frontend")
sessions = redis.Redis(port=int(os.environ["BANK_REDIS_PORT"]))
only = threading.Lock()


def url(name, path):
    """The URL of another service; with the fault `delay`, balance is behind a relay."""
    host = os.environ.get("BANK_FRONTEND_CALLS", "127.0.0.1")
    if name == "balance" and service.fault("delay"):
        host, name = "127.0.0.1", "relay"
    return f"http://{host}:{os.environ[f'BANK_{name.upper()}_PORT']}{path}"


def call(name, path):
    reply = requests.get(url(name, path))
    reply.raise_for_status()
    return reply.json()


@app.before_request
def await_session():
    if service.fault("pool@frontend"):
        only.acquire()
        g.has_session = True


@app.teardown_request
def return_session(_):
    if g.pop("has_session", False):
        only.release()


@app.after_request
def name_trace(response):
    """Return the trace id to the client, to identify slow requests."""
    context = trace.get_current_span().get_span_context()
    response.headers["X-Trace-Id"] = trace.format_trace_id(context.trace_id)
    return response


@app.post("/login")
def login():
    checked = requests.post(url("users", "/check"), json=request.form.to_dict())
    if checked.status_code != 200:
        abort(403)
    token = secrets.token_hex(16)
    sessions.setex(f"session:{token}", SESSION_SECONDS, checked.json()["account"])
    response = jsonify(welcome=checked.json()["name"])
    response.set_cookie("session", token)
    return response


@app.get("/home")
def home():
    account = sessions.get(f"session:{request.cookies.get('session')}")
    if not account:
        abort(401)
    account = int(account)
    return jsonify(name=call("users", f"/name/{account}")["name"],
                   contacts=call("contacts", f"/contacts/{account}"),
                   balance=call("balance", f"/balance/{account}")["balance"],
                   entries=call("ledger", f"/entries/{account}")["entries"])


@app.post("/logout")
def logout():
    if not sessions.delete(f"session:{request.cookies.get('session')}"):
        abort(401)
    return jsonify(goodbye=True)
