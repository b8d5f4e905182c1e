sonde info data/good/jaeger-small.json
sonde info --json data/good/jaeger-small.json
