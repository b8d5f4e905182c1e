sonde explain --thread=1 data/good/flush.sonde
