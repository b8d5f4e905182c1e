# the wakeups between the three programs of this recording, and the system calls of one
sonde dump --events data/good/perf-calls.data | grep -e sched:sched_process -e perf: -e 'comm="cat"'
sonde dump --events --json data/good/perf-calls.data | grep '"name":"raw_syscalls:sys_enter"' | tail -n 2
