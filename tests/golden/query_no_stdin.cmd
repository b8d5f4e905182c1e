# needs query
sonde query data/good/every-kind.sonde
