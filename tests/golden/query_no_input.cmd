# needs query
sonde query "SELECT 1"
