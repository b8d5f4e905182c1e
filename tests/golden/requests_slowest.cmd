sonde requests -n 2 --count=read --count=recvfrom data/requests/fork.psv | sed -E 's/trace [0-9a-f]+$/trace ID/'
