# needs query
sonde query data/good/nothing.sonde "SELECT * FROM thread"
