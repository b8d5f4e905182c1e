sonde top -n 1 ../demo/demo.sonde
COLUMNS=120 sonde top -n 1 ../demo/demo.sonde | head -4
LC_ALL=C sonde top -n 1 ../demo/demo.sonde | head -4
