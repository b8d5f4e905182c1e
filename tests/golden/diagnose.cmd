sonde diagnose ../demo/demo.sonde ../demo/demo.json
