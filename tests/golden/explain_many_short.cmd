awk 'BEGIN {
	print "# tracer: nop"
	for (i = 1; i <= 150; i++) {
		t = 1 + i / 1000
		printf "main-10 [000] d..2. %.6f: sched_switch: prev_comm=main prev_pid=10 prev_prio=120 prev_state=D ==> next_comm=disk%d next_pid=%d next_prio=120\n", t, i, 100 + i
		printf "disk%d-%d [000] d..2. %.6f: sched_waking: comm=main pid=10 prio=120 target_cpu=000\n", i, 100 + i, t + 0.0008
		printf "disk%d-%d [000] d..2. %.6f: sched_switch: prev_comm=disk%d prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=main next_pid=10 next_prio=120\n", i, 100 + i, t + 0.00081, i, 100 + i
	}
}' >"${TMPDIR:-/tmp}/many.$$.txt"
sonde explain --thread=10 "${TMPDIR:-/tmp}/many.$$.txt" 2>/dev/null | grep below
rm "${TMPDIR:-/tmp}/many.$$.txt"
