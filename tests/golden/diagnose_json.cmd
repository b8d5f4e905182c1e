sonde diagnose --json ../demo/demo.sonde ../demo/demo.json | sed "s/},/},\n/g"
