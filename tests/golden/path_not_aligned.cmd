sonde path --thread=4001 data/hosts/front.sonde data/good/small.sonde | head -2
