sonde explain data/good/flush.sonde data/good/jaeger-flush.json
