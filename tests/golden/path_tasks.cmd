sonde path --trace=7a01 data/good/tasks.sonde
sonde path --trace=7a04 data/good/tasks.sonde
