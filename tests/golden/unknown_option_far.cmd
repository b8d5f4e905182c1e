sonde info --zebra x
