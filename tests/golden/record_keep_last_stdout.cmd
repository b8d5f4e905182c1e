# needs record
sonde record -a -o - --keep-last=5s
