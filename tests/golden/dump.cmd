sonde dump data/good/every-kind.sonde
