sonde path --json --trace=7f3a51c0 data/good/flush.sonde data/good/jaeger-flush.json | python3 -m json.tool --no-ensure-ascii
