# needs query
sonde query data/good/every-kind.sonde "SELECT tid, comm, state, ns, syscall, object, name, waker_comm, context FROM intervals WHERE comm IS NOT NULL"
