"""A small OpenAI-compatible server of our own, whose answers a test writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
Said = dict[str, Any] | int | bytes | tuple[int, str]
Answer = Callable[[str, Request], Said]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers `answer(path, request)`: a JSON object, bytes as they are, or an error's number.

    An error may bring its message. A GET is an empty request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: Request) -> None:
            found = answer(self.path, body)
            status, message = found if isinstance(found, tuple) else (found, "refused") if isinstance(found, int) else (200, "")
            said = {"error": {"message": message}} if message else found
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if data.startswith(b"<") else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # many connect at once

    httpd = Server(("127.0.0.1", 0), Handler)
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


class ScoringServer:
    """Answers as a vLLM server of `model` (a small torch model) would that is asked to score: tests ask nothing else of it.

    `fault` sees every answer to /completions before it is sent, with its number and request, and gives what is sent.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        fault: Callable[[int, Request, dict[str, Any]], Said] = lambda number, body, answer: answer,
        cards: list[Request] | None = None,
        max_logprobs: int = 1000,
    ) -> None:
        self.model, self.tokenizer, self.fault, self.max_logprobs = model, tokenizer, fault, max_logprobs
        self.cards = cards or [{"id": "teacher", "max_model_len": 4096, "parent": None}]
        self.requests: list[Request] = []
        self.lock = threading.Lock()

    def __call__(self, path: str, body: Request) -> Said:
        if path == "/v1/models":
            return {"object": "list", "data": self.cards}
        if path == "/detokenize":
            return {"prompt": self.tokenizer.decode(body["tokens"])}
        assert path == "/v1/completions"
        with self.lock:
            self.requests.append(body)
            number = len(self.requests)
        if body.get("prompt_logprobs", 0) > self.max_logprobs:
            asked = body["prompt_logprobs"]
            return 400, f"Requested prompt logprobs of {asked}, which is greater than max allowed: {self.max_logprobs}"
        return self.fault(number, body, self.completion(body))

    def completion(self, body: Request) -> dict[str, Any]:
        import torch

        ids = list(body["prompt"])
        with torch.no_grad():
            for _ in range(body["max_tokens"]):
                logits_TV = self.model(torch.tensor([ids])).logits[0]
                ids.append(int(logits_TV[-1].argmax()))
        choice: dict[str, Any] = {
            "index": 0, "text": "", "finish_reason": "length", "prompt_token_ids": body["prompt"],
            "token_ids": ids[len(body["prompt"]) :], "prompt_logprobs": None,
        }  # fmt: skip
        if k := body.get("prompt_logprobs"):
            places: list[dict[str, Any] | None] = [None]
            logprobs_TV = logits_TV[: len(body["prompt"])].float().log_softmax(-1)
            for logprobs_V, token in zip(logprobs_TV, body["prompt"][1:], strict=False):
                likeliest = {*logprobs_V.topk(min(k, len(logprobs_V))).indices.tolist(), token}
                places.append({str(id): {"logprob": logprobs_V[id].item(), "decoded_token": "?"} for id in likeliest})
            choice["prompt_logprobs"] = places
        return {"id": "1", "object": "text_completion", "created": 0, "model": body["model"], "choices": [choice]}
