sonde info -Z x
