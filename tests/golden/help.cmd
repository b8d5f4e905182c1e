# needs record
sonde help
