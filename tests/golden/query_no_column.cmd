# needs query
sonde query data/good/nothing.sonde "SELECT length FROM spans"
