# needs record
# needs query
sonde help
