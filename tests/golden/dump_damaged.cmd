# what stands before the damage is shown
sonde dump data/bad/record-too-long.sonde
