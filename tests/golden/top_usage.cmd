# needs record
sonde top -a capture.sonde
sonde top -p 1 -a
sonde top -d 1ms
sonde top --window 1s
sonde top --memory 1M
sonde top --port 99999
sonde top -p x
sonde top missing.sonde
