sonde
