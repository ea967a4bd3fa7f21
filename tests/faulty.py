"""A proxy in front of a served model that does what servers do on bad days, and keeps count of it."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Fault = Literal["429", "500", "cut", "broken", "dead"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Proxy:
    """Passes requests on to `upstream`; `fault(n)` says what befalls the n-th instead, None for nothing.

    `dead` closes the port for `away` seconds: connections are refused until it comes back.
    """

    def __init__(self, upstream: str, fault: Callable[[int], Fault | None], away: float = 1.0) -> None:
        self.upstream, self.fault, self.away = urlsplit(upstream), fault, away
        self.did: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.seen = 0
        self.port = 0
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.upstream.path}"

    def open(self) -> None:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with proxy.lock:
                    proxy.seen += 1
                    found = proxy.fault(proxy.seen)
                    proxy.did[str(found)] += 1
                if found == "dead":
                    self.close_connection = True
                    threading.Thread(target=proxy.go_away).start()
                elif found in ("429", "500"):
                    self.answer(int(found), b"{}")
                else:
                    status, data = proxy.forward(self.path, body)
                    self.answer(status, data[: len(data) // 2] if found == "broken" else data, cut=found == "cut")

            def answer(self, status: int, data: bytes, *, cut: bool = False) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Retry-After-Ms", "20")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if cut else data)
                self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def go_away(self) -> None:
        self.close()
        time.sleep(self.away)
        self.open()

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.upstream.netloc, timeout=60)
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()


@contextmanager
def faulty(upstream: str, fault: Callable[[int], Fault | None]) -> Iterator[Proxy]:
    """The proxy while it is needed."""
    proxy = Proxy(upstream, fault)
    try:
        yield proxy
    finally:
        proxy.close()
