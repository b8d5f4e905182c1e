# needs query
sonde query data/good/nothing.sonde "SELECT tid,
  count(*) FORM threads"
