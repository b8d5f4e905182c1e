# SPDX-License-Identifier: Apache-2.0
"""nginx passes requests on to a service that flushes a journal in each of them."""
NEEDS = ["nginx"]
TRUTH = r"store.*(fsync|fdatasync) of .*journal"
PARTLY = r"fsync|fdatasync|store"
CONFIGURATION = """
    daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/nginx-error.log;
    events {{ worker_connections 64; }}
    http {{
        access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
        fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
        upstream store {{ server 127.0.0.1:{store}; keepalive 8; }}
        server {{
            listen 127.0.0.1:{port};
            location / {{ proxy_pass http://store; proxy_http_version 1.1; proxy_set_header Connection ""; }}
        }}
    }}
"""


def start(lab):
    store = lab.port("store")
    lab.service("store", lab.compile("store.c"), store, lab.directory / "journal", port=store)
    file = lab.directory / "nginx.conf"
    file.write_text(CONFIGURATION.format(directory=lab.directory, store=store, port=lab.port()))
    return lab.service("nginx", "nginx", "-c", file, "-e", lab.directory / "nginx-error.log", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=10)
