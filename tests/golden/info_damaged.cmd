# the records before the damage are counted
sonde info data/bad/block-checksum.sonde
