sonde explain --thread=4127 data/bad/block-checksum.sonde
