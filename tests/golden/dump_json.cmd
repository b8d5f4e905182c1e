sonde dump --json data/good/every-kind.sonde
