# needs record
sonde record sleep 1
