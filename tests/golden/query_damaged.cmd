# needs query
sonde query data/good/cut.sonde "SELECT count(*) FROM intervals"
sonde query data/bad/block-checksum.sonde "SELECT count(*) > 0 AS some FROM threads"
