sonde export --to=ctf data/good/small.sonde
