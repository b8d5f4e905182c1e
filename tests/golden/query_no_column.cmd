# needs query
sonde query data/good/nothing.sonde "SELECT duration FROM spans"
