sonde path data/good/flush.sonde
