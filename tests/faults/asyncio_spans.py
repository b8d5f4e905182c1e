# SPDX-License-Identifier: Apache-2.0
"""A handler of a FastAPI service blocks the event loop; the service exports spans with OpenTelemetry."""
import runtimes
import services

TRUTH = r"sleeps"
PARTLY = r"reviews"
SPANS = "spans.otlp"


def start(lab):
    python, collector, port = runtimes.python(lab), lab.port("collector"), lab.port()
    process = lab.spawn("collector", lab.python("collector.py"), collector,
                        lab.directory / SPANS)
    lab.wait(process, "collector", lambda: services.connects(collector))
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector}", "OTEL_BSP_SCHEDULE_DELAY": "500",
           "OTEL_SERVICE_NAME": "reviews"}
    return lab.service("reviews", python, services.SOURCES / "reviews.py", port, port=port, env=env)


def client(lab):
    return lab.load(lab.port(), "/export", "/review", "/review", "/review", connections=8, pause=150)
