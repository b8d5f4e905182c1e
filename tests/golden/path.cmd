sonde path --trace=7f3a51c0 data/good/flush.sonde data/good/jaeger-flush.json
