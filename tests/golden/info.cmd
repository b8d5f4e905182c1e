sonde info data/good/every-kind.sonde
