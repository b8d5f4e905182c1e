sonde dump data/good/jaeger-small.json
sonde dump --json data/good/jaeger-small.json
