sonde dump data/good/cut.sonde
