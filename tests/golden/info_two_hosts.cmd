sonde info data/hosts/front.sonde data/hosts/back.sonde
