# needs record
sonde snap --help
