# needs query
sonde query --json data/good/every-kind.sonde "SELECT tid, tid, ms(duration) AS ms, error FROM syscalls; SELECT 1 AS a, 'x' AS \"b\"\"c\", NULL AS a, x'00ff' AS d, 9e999 AS e"
