# A closed pipe: the command exits without a message.
dir=$(mktemp -d)
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe" 4>"$dir/pipe" 3<&-
sonde help >&4
code=$?
rm -r "$dir"
exit $code
