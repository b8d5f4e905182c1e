sonde info data/good/jaeger-flush.json data/good/flush.sonde
sonde info --json data/good/jaeger-flush.json data/good/flush.sonde | python3 -m json.tool | tail -n 16
