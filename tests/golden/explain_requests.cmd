sonde explain --requests ../demo/demo.sonde ../demo/demo.json | head -4 | sed -E 's/trace [0-9a-f]+$/trace ID/'
