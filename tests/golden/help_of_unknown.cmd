sonde help inof
