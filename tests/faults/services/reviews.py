# SPDX-License-Identifier: Apache-2.0
"""reviews PORT - reviews with FastAPI and OpenTelemetry; an export blocks the event loop."""
import sys
import time

import fastapi
import uvicorn
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
app = fastapi.FastAPI()


@app.get("/review")
async def review():
    return {"stars": 4}


@app.get("/export")
async def export():
    time.sleep(0.1)  # a library without async calls
    return {"exported": 1}


FastAPIInstrumentor.instrument_app(app)
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
