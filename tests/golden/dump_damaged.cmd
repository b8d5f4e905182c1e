# the records before the damage are printed
sonde dump data/bad/record-too-long.sonde
