# One request cannot be compared with others, and a thread is no request.
sonde diagnose data/good/jaeger-flush.json
sonde diagnose data/good/otlp-skew.json
sonde diagnose data/good/flush.sonde
