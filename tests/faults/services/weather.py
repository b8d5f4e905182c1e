# SPDX-License-Identifier: Apache-2.0
"""weather PORT VENDOR - weather from a vendor at 127.0.1.80."""
import sys
import urllib.request

import flask

app = flask.Flask("weather")


@app.route("/")
def weather():
    with urllib.request.urlopen(f"http://127.0.1.80:{sys.argv[2]}/now") as reply:
        return reply.read()


app.run(port=int(sys.argv[1]), threaded=True)
