sonde explain ../demo/demo.sonde
