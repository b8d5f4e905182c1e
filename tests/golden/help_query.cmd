# needs query
sonde query --help
