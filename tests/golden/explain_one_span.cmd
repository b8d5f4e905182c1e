sonde explain data/good/jaeger-flush.json
