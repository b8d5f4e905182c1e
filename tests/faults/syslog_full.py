# SPDX-License-Identifier: Apache-2.0
"""The reader of a Unix datagram socket pauses now and then; a Python service that logs to it blocks in send()."""
# The thread that sends waits for the reader; the other threads wait for the lock of the log handler.
TRUTH = r"syslogd.*\bsleeps\b"
PARTLY = r"syslogd|syslog\.socket|\bsend"


def start(lab):
    port, path = lab.port(), lab.directory / "syslog.socket"
    process = lab.spawn("syslogd", lab.compile("syslogd.c"), path)
    lab.pids.append(process.pid)
    lab.wait(process, "syslogd", path.exists)
    return lab.service("payments", lab.python("payments.py"), port, path, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=25)
