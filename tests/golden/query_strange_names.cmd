# needs query
sonde query data/good/strange.ftrace "SELECT tid, comm FROM threads"
sonde query data/good/nothing.sonde "SELECT char(27) || '[31m' AS \"a\b\", char(10) AS line, 'a' || char(0) || 'b' AS nul"
