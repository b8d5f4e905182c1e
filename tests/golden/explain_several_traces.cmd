sonde explain --trace=18e8 ../demo/demo.sonde ../demo/demo.json | head -1; sonde explain --trace=18e827541813 ../demo/demo.sonde ../demo/demo.json | head -1
