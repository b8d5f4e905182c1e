sonde explain --slowest=2 data/good/jaeger-small.json
