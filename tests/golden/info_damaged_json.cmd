sonde info --json data/bad/block-checksum.sonde
