# A stream from a pipe, as of 'sonde record -o -'.
cat data/good/stream.sonde | sonde top --json - | python3 -c '
import json, sys
for line in sys.stdin:
    view = json.loads(line)
    print(view["scope"], view["host"], view["records"], [o["operation"] for o in view["operations"]])'
head -c 1000 data/good/stream.sonde | sonde top --json -
echo nothing | sonde top -
