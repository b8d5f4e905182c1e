# needs record
sonde
