"""A service that messages are sent to."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Service(ThreadingHTTPServer):
    """Answers with an error the first ``failures`` times."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures, self.received = failures, list[dict[str, Any]]()


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(503)
            return
        self.server.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""
