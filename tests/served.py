"""A small OpenAI-compatible server of our own, whose answers a test writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
Answer = Callable[[str, Request], dict[str, Any] | int | bytes]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers `answer(path, request)`: a JSON object, bytes as they are, or an error's number."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = answer(self.path, body)
            said = {"error": {"message": "refused"}} if isinstance(found, int) else found
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(found if isinstance(found, int) else 200)
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
        yield f"http://127.0.0.1:{httpd.server_port}/v1"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@contextmanager
def chat_server(answer: Callable[[Request], str | int | bytes | None]) -> Iterator[tuple[str, list[Request]]]:
    """Its base URL and the requests it got. `answer` gives a request's text (None: no choices) or the status of a refusal.

    A text that ends in `…` is marked as cut off; bytes are sent as they are.
    """
    requests: list[Request] = []

    def reply(path: str, body: Request) -> dict[str, Any] | int | bytes:
        requests.append(body)
        said = answer(body)
        if isinstance(said, int | bytes):
            return said
        whole = chat(said or "")
        if said is None:
            return {**whole, "choices": []}
        if said.endswith("…"):
            whole["choices"][0]["finish_reason"] = "length"
        return whole

    with serving(reply) as url:
        yield url, requests


def chat(text: str, prompt_tokens: int = 7, completion_tokens: int = 2) -> dict[str, Any]:
    """A chat completion that says `text`."""
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }  # fmt: skip
