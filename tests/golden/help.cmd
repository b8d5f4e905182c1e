sonde help
