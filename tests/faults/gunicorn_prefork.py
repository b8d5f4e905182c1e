# SPDX-License-Identifier: Apache-2.0
"""gunicorn has two worker processes, and nginx sends more requests than that at a time."""
import runtimes
import services

NEEDS = ["nginx"]
# The connections wait until a worker accepts them; the workers sleep for other requests.
TRUTH = r"(?=.*(accept|(?<!run-)queue|another request|other request|client 127))(?=.*sleeps)"
PARTLY = r"sleeps|accept|(?<!run-)queue"


def start(lab):
    python, port = runtimes.python(lab), lab.port("quotas")
    lab.service("quotas", python, "-m", "gunicorn", "-w", 2, "-b", f"127.0.0.1:{port}", "--chdir", services.SOURCES,
                "--no-control-socket", "quotas:application", port=port)
    return runtimes.nginx(lab, f"proxy_pass http://127.0.0.1:{port};")


def client(lab):
    return lab.load(lab.port(), "/", connections=6, pause=50)
