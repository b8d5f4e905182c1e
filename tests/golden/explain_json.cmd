sonde explain --json data/good/flush.sonde data/good/jaeger-flush.json | python3 -m json.tool --no-ensure-ascii
