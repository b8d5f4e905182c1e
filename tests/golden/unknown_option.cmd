sonde info --jsno x
