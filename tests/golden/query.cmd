# needs query
sonde query data/good/every-kind.sonde "SELECT tid, comm, state, duration, syscall, object_type, object_name, waker_comm, woken_by FROM intervals WHERE comm IS NOT NULL"
