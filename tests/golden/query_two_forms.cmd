# needs query
sonde query --csv --json data/good/nothing.sonde "SELECT 1"
