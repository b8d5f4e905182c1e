# needs record
sonde record -d 0 -a
