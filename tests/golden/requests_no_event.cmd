sonde requests --count=sched:sched_switch data/good/small.sonde; sonde requests --count=nothing data/good/every-kind.sonde
