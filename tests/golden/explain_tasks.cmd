sonde explain --slowest=3 data/good/tasks.sonde
