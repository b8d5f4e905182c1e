sonde path --thread=4001 data/good/front.sonde data/good/small.sonde | head -2
