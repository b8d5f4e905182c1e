# what stands before the damage is told
sonde info data/bad/block-checksum.sonde
