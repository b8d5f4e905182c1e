# needs query
printf 'SELECT count(*) AS n\nFROM threads;\n-- nothing\nSELECT max(tid) FROM threads' | sonde query data/good/every-kind.sonde
