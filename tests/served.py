"""A small OpenAI-compatible server of our own, whose answers a test writes."""

from __future__ import annotations

import copy
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


class SamplingServer:
    """Answers as a vLLM server of a base (a small torch model) would that samples with LoRA adapters loaded as it runs.

    `fault` sees every answer before it is sent, with its path, number (of all) and request, and gives what is sent.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        fault: Callable[[str, int, Request, Any], Said] = lambda path, number, body, answer: answer,
        room: int = 4096,
    ) -> None:
        self.model, self.tokenizer, self.fault, self.room = model, tokenizer, fault, room
        self.adapters: dict[str, Any] = {}
        self.requests: list[tuple[str, Request]] = []
        self.lock = threading.Lock()

    def __call__(self, path: str, body: Request) -> Said:
        with self.lock:
            self.requests.append((path, body))
            return self.fault(path, len(self.requests), body, self.answer(path, body))

    def asked(self, path: str) -> list[Request]:
        return [body for at, body in self.requests if at == path]

    def answer(self, path: str, body: Request) -> Said:
        if path == "/v1/models":
            cards = [{"id": name, "max_model_len": None, "parent": "base"} for name in self.adapters]
            return {"object": "list", "data": [{"id": "base", "max_model_len": self.room, "parent": None}, *cards]}
        if path == "/detokenize":
            return {"prompt": self.tokenizer.decode(body["tokens"])}
        if path == "/v1/load_lora_adapter":
            return self.load(body["lora_name"], body["lora_path"])
        if path == "/v1/unload_lora_adapter":
            return b"Success" if self.adapters.pop(body["lora_name"], None) else (404, "no such adapter")
        assert path == "/v1/completions"
        return self.completion(body) if body["model"] in self.adapters else (404, f"The model {body['model']} does not exist.")

    def load(self, name: str, folder: str) -> Said:
        from peft import PeftModel

        if name in self.adapters:
            return 400, f"The lora adapter {name} has already been loaded."
        self.adapters[name] = PeftModel.from_pretrained(copy.deepcopy(self.model), folder).eval()
        return b"Success"

    def completion(self, body: Request) -> dict[str, Any]:
        import torch

        assert (body["temperature"], body["top_p"], body["top_k"], body["min_p"], body["repetition_penalty"]) == (1, 1, 0, 0, 1)
        random = torch.Generator().manual_seed(body["seed"])
        ids, logprobs = list(body["prompt"]), []
        with torch.no_grad():
            for _ in range(body["max_tokens"]):
                logprobs_V = self.adapters[body["model"]](torch.tensor([ids])).logits[0, -1].float().log_softmax(-1)
                ids.append(int(torch.multinomial(logprobs_V.exp(), 1, generator=random)))
                logprobs.append(float(logprobs_V[ids[-1]]))
                if ids[-1] in body["stop_token_ids"]:
                    break
        choice = {
            "index": 0, "text": "", "finish_reason": "stop" if ids[-1] in body["stop_token_ids"] else "length",
            "prompt_token_ids": body["prompt"], "token_ids": ids[len(body["prompt"]) :], "logprobs": {"token_logprobs": logprobs},
        }  # fmt: skip
        return {"id": "1", "object": "text_completion", "created": 0, "model": body["model"], "choices": [choice]}
