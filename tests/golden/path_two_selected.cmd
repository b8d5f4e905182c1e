sonde path --span=12 --trace=12 ../demo/demo.sonde
