# needs record
sonde record --help
