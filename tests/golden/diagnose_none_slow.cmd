sonde diagnose --slow=1s ../demo/demo.sonde
sonde diagnose --slow=1us ../demo/demo.sonde
sonde diagnose --slow=fast ../demo/demo.sonde
