sonde export data/good/small.sonde
