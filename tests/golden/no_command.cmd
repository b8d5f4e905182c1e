# needs record
# needs query
sonde
