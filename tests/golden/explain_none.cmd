sonde explain -n 0 ../demo/demo.sonde
