# needs query
sonde query data/good/every-kind.sonde "SELECT * FROM threads" > /dev/full
