sonde export --to=otlp data/good/nothing.sonde
