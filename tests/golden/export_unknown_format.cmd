sonde export --to=xml data/good/small.sonde
