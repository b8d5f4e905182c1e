sonde dump --events data/good/jaeger-small.json
