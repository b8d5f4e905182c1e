# needs record
sonde record --keep-last=1s -a
