# needs query
sonde query --csv data/good/every-kind.sonde "SELECT id, comm, cmdline FROM threads; SELECT 1 AS a, 'x, \"y\"' AS b, NULL AS c, '' AS d, x'00ff' AS e, 0.1 AS f"
