# needs record
sonde record --keep-last=5s --when=fast -a
