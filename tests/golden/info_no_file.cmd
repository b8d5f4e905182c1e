sonde info data/good/no-such.sonde
