# needs record
sonde doctor --pid 4294967297
sonde spans --pid 0
