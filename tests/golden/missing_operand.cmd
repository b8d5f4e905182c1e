sonde info
