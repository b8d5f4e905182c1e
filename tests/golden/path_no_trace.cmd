sonde path --trace=0 data/good/flush.sonde
