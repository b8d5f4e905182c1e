sonde path --thread=4001 --to=10ms data/hosts/front.sonde data/hosts/back.sonde
