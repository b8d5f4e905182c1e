sonde path --thread=4001 --to=10ms data/good/front.sonde data/good/back.sonde
