# needs query
sonde query data/good/nothing.sonde "SELECT * FROM tables; SELECT name, type, description FROM columns WHERE table_name = 'intervals'"
