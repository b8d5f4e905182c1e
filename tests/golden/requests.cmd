sonde requests ../demo/demo.sonde
