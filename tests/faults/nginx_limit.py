# SPDX-License-Identifier: Apache-2.0
"""nginx delays requests above a rate of 25 per second (limit_req)."""
NEEDS = ["nginx"]
TRUTH = r"nginx.*(timer|delay|sleeps)"
PARTLY = r"nginx"
CONFIGURATION = """
    daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/nginx-error.log crit;
    events {{ worker_connections 64; }}
    http {{
        access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
        fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
        limit_req_zone $server_port zone=all:1m rate=25r/s;
        server {{
            listen 127.0.0.1:{port};
            location / {{ limit_req zone=all burst=100; proxy_pass http://127.0.0.1:{archive}; }}
        }}
    }}
"""


def start(lab):
    archive = lab.port("archive")
    lab.service("archive", lab.compile("archive.c"), archive, "1", port=archive)
    file = lab.directory / "nginx.conf"
    file.write_text(CONFIGURATION.format(directory=lab.directory, archive=archive, port=lab.port()))
    return lab.service("nginx", "nginx", "-c", file, "-e", lab.directory / "nginx-error.log", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=6, pause=60)
