# needs query
echo 'SELECT 1' | sonde query -
cat data/good/every-kind.sonde | sonde query - 'SELECT count(*) FROM threads'
