sonde info data/good/cut.sonde && sonde info --json data/good/cut.sonde
