sonde info --format=none data/good/flush.sonde
