sonde explain --from=1s ../demo/demo.sonde
