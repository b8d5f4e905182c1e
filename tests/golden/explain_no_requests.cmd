sonde explain data/good/flush.sonde
