sonde info data/good/front.sonde data/good/back.sonde
