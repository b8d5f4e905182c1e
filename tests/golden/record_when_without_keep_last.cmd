# needs record
sonde record --when=5s -a
