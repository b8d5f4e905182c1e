sonde requests --tree data/requests/fork.psv | sed -E 's/trace [0-9a-f]+$/trace ID/'
