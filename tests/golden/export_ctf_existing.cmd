# existing files are not touched, and no temporary files remain
dir=$(mktemp -d) && mkdir "$dir/full" "$dir/empty" && echo mine > "$dir/full/file"
for place in full full/file empty none/trace; do
	(cd "$dir" && sonde export --to=ctf -o $place "$OLDPWD/data/good/small.sonde")
done
(cd "$dir" && ls -R)
rm -r "$dir"
