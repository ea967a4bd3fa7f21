"""A small OpenAI-compatible server for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@contextmanager
def chat_server(answer: Callable[[Request], str | int | bytes | None]) -> Iterator[tuple[str, list[Request]]]:
    """Its base URL and the requests it got. `answer` gives a request's text (None: no choices) or the status of a refusal.

    A text that ends in `…` is marked as cut off; bytes are sent as they are.
    """
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(body)
            said = answer(body)
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "finish_reason": "length" if str(said).endswith("…") else "stop", "message": message}
            reply = {
                "id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [] if said is None else [choice],
                "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
            }  # fmt: skip
            refused = isinstance(said, int)
            data = json.dumps({"error": {"message": "refused"}} if refused else reply, default=str).encode()
            data = said if isinstance(said, bytes) else data
            self.send_response(said if isinstance(said, int) else 200)
            self.send_header("Content-Type", "text/html" if data.startswith(b"<") else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/v1", requests
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
