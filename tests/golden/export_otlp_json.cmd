sonde export --to=otlp-json data/requests/fork.psv | python3 -m json.tool | sed -E 's/"[0-9a-f]{16,32}"/"ID"/' | head -110
