# needs query
for sql in "DELETE FROM threads" "INSERT INTO threads VALUES (1)" "CREATE TABLE x(a)" "CREATE TEMP TABLE x(a)" "DROP TABLE threads" "ATTACH 'x.db' AS x" "VACUUM INTO 'x.db'" \
	"PRAGMA writable_schema = 1" "PRAGMA temp_store_directory = '.'" "BEGIN;" "SELECT load_extension('x')" "CREATE VIRTUAL TABLE x USING fts5(a)" "SELECT 1; DROP TABLE threads; SELECT 2"; do
	sonde query data/good/nothing.sonde "$sql"
done
ls *.db 2>/dev/null || echo no file was made
