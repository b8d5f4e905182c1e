# one recording in each form that perf.data may have: what is read is the same
for form in file pipe packed packed-pipe swapped; do
	sonde dump --events data/good/perf-$form.data | cksum
done | uniq | wc -l
sonde dump --events data/good/perf-swapped.data
