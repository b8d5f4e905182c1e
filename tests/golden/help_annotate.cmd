# needs record
sonde annotate --help
