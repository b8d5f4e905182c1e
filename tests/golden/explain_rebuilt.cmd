sonde explain ../demo/demo.sonde | sed -E 's/trace [0-9a-f]+$/trace ID/'
