# SPDX-License-Identifier: Apache-2.0
"""mailer PORT - send mails with a pool of two threads."""
import concurrent.futures
import time

import web

pool = concurrent.futures.ThreadPoolExecutor(2)


def send_mail(path):
    time.sleep(0.05)  # the mail gateway
    return f"sent {path}\n"


def handle(path):
    return pool.submit(send_mail, path).result()


web.serve(handle)
