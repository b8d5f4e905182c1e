sonde requests data/hosts/front.sonde data/hosts/back.sonde
