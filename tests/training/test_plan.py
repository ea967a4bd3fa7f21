"""What a run costs: against numbers worked by hand, against real models, and against torch's own count of FLOPs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from intentfold.config import parse, plain
from intentfold.training.plan.cost import Rows, Run, exchanged, memory, parts
from intentfold.training.plan.dry_run import of_opd, of_thinking
from intentfold.training.plan.machine import Device, Launch, launch_of_environment, launch_of_file
from intentfold.training.plan.shape import KNOWN, Shape, ShapeError, read, shape_of
from intentfold.training.plan.tables import TABLES, with_tables
from tests.tiny import ROOT, script, tiny_hybrid, tiny_model, tiny_thoughts, tiny_traces

TOY = Shape(name="toy", layers=2, hidden=4, heads=2, kv_heads=1, head_dim=2, ffn=8, vocab=10, tied=True)
DEVICE = Device(
    name="toy", flops={"bfloat16": 1000.0}, bandwidth=100.0, memory=1e6, link=10.0, mfu=0.5, reach=0.5, launch=0.0
)  # fmt: skip
RUN = Run(
    student=TOY, rank=2, targets=("q_proj", "v_proj"), dtype="bfloat16", rows_per_step=4, micro_batch=2, max_length=16,
    checkpointing=False, rows=Rows(prompt=8, completion=2, longest_completion=4),
)  # fmt: skip
ONE = Launch("one", 1)


def test_weights_of_a_toy_by_hand() -> None:
    # A layer: queries 4x4, keys and values 2x4 each, output 4x4 (48); gate, up, down of 8x4 (96).
    assert TOY.active == 2 * (48 + 96)
    assert TOY.head == 40
    # Embedding (the head is the same), two norms a layer and one at the end.
    assert TOY.parameters == 288 + 40 + 5 * 4
    # Rank 2 on queries (4 + 4) and values (4 + 2), in two layers.
    assert TOY.adapter(2, ("q_proj", "v_proj")) == 2 * 14 * 2
    # Two products of 2 x 2 FLOPs for each of 2 heads, 5 tokens seen and 2 layers, for 10 tokens.
    assert TOY.mixing(10, 5) == 10 * 2 * 4 * 2 * 5 * 2
    # Keys and values of 2 numbers, 2 layers, 10 tokens, 2 bytes.
    assert TOY.cache(10, 3, 2) == 2 * 2 * 2 * 10 * 2


def test_known_shapes_sum_to_the_published_sizes() -> None:
    assert KNOWN["smollm2-135m-instruct"].parameters == 134_515_008
    published = {"Qwen3.5-2B": 1.9, "Qwen3.5-4B": 4.2, "Qwen3.5-9B": 9.0, "Qwen3.5-35B-A3B": 34.7, "Qwen3.5-122B-A10B": 122.1}
    assert {name: round(KNOWN[name].parameters / 1e9, 1) for name in published} == published
    sparse = KNOWN["Qwen3.5-122B-A10B"]
    assert 8e9 < sparse.active + sparse.head < 10e9  # "A10B" counts the embedding's lookup too


def test_a_step_of_sft_by_hand() -> None:
    forward, backward = parts(RUN, DEVICE, ONE)
    # 40 tokens through 288 + 56 weights, 40 x 160 looking back 5 tokens on average, 8 completion tokens through the head.
    assert forward.flops == 2 * 40 * (288 + 56) + 40 * 160 + 2 * 8 * 40
    # Inputs' gradients of frozen weights, both gradients of the adapter, twice the looking back, head again and its gradient.
    assert backward.flops == 2 * 40 * 288 + 4 * 40 * 56 + 2 * 40 * 160 + 2 * 2 * 8 * 40
    assert (forward.bound, forward.seconds) == ("FLOPs", forward.flops / (1000 * 0.5))
    again = parts(replace(RUN, checkpointing=True), DEVICE, ONE)[1]
    assert again.flops - backward.flops == forward.flops - 2 * 8 * 40  # the layers once more, not the head
    assert parts(RUN, DEVICE, Launch("ddp", 2))[0].seconds == forward.seconds / 2


def test_decoding_is_bound_by_what_it_reads() -> None:
    names = [part.name for part in parts(replace(RUN, samples=True, teacher=TOY), DEVICE, ONE)]
    assert names == ["rollout: prompts", "rollout: decoding", "teacher", "student forward", "student backward"]
    decode = parts(replace(RUN, samples=True), replace(DEVICE, bandwidth=10.0), ONE)[1]
    # 4 steps, each reading 328 weights of 2 bytes, 56 of 4, and a cache of 4 rows at 10 tokens: 16 bytes a token.
    assert decode.bound == "memory bandwidth"
    assert decode.seconds == pytest.approx(4 * (328 * 2 + 56 * 4 + 40 * 16) / (10 * 0.5))
    slow = parts(replace(RUN, samples=True), replace(DEVICE, launch=1.0), ONE)[1]
    # 35 kernels for each of 2 layers and 6 for each of 4 adapted matrices, 4 steps.
    assert (slow.bound, slow.seconds) == ("kernel launches", 4 * (35 * 2 + 6 * 4))


def test_memory_and_what_ranks_share() -> None:
    alone = memory(RUN, ONE)
    assert (alone["weights"], alone["adapter"], alone["gradients"], alone["optimizer"]) == (348 * 2, 224, 224, 448)
    two = memory(RUN, Launch("zero2", 2))
    assert (two["weights"], two["gradients"], two["optimizer"]) == (348 * 2, 112, 224)
    three = memory(RUN, Launch("zero3", 2))
    assert three["weights"] == 348
    assert memory(replace(RUN, samples=True), Launch("zero3", 2))["weights gathered"] == 348 * 2
    assert memory(RUN, Launch("ddp", 2)) == alone
    other = replace(RUN, samples=True, teacher=TOY, teacher_holds="weights")
    assert memory(other, ONE)["teacher"] == 348 * 2
    assert memory(other, ONE)["KV cache"] == TOY.cache(4 * 16, 4, 2)
    # A ring of two sends and takes half of the float32 gradients twice; shared weights once a pass forward and back.
    assert exchanged(RUN, Launch("ddp", 2)) == 2 * 0.5 * 224
    assert exchanged(RUN, Launch("zero3", 2)) == 2 * 0.5 * 224 + 2 * 0.5 * 348 * 2


def test_beside_a_served_teacher_logits_are_whole() -> None:
    served, large = replace(RUN, samples=True), replace(TOY, vocab=20_000_000)
    taught = replace(served, teacher=TOY)
    # 2 rows of 4 tokens, 20 million float32 each, three times; TRL's two tiles are of 4,096 x 32,768.
    assert memory(replace(served, student=large), ONE)["logits"] == 2 * 4 * 20_000_000 * 4 * 3
    assert memory(replace(taught, student=large), ONE)["logits"] == 2 * 4096 * 32_768 * 4
    back, again = (parts(run, DEVICE, ONE)[-1].flops for run in (served, taught))
    assert again - back == 2 * 8 * 40  # a tile's logits are computed once more


def test_a_teacher_reads_its_worked_examples_too(tmp_path: Path) -> None:
    tiny_traces(tmp_path)
    arguments = {
        "base": tmp_path / "Qwen3.5-2B",
        "out": tmp_path / "out",
        "init_adapter": tmp_path,
        "traces": tmp_path,
        "steps": 1,
    }
    bare, shown = (of_opd(script("train/opd.py").Arguments(**arguments, worked_examples=n)).run.rows for n in (0, 2))
    assert shown.teacher_prompt == pytest.approx(3 * bare.teacher_prompt + 2 * bare.completion)
    assert shown.prompt == bare.prompt


def test_launches_of_the_shipped_configs() -> None:
    found = {path.stem: launch_of_file(path) for path in (ROOT / "accelerate_configs").glob("*.yaml")}
    assert found == {
        "cpu": Launch("one", 1, cpu=True),
        "one_gpu": Launch("one", 1),
        "ddp": Launch("ddp", 8),
        "deepspeed_zero2": Launch("zero2", 8),
        "deepspeed_zero3": Launch("zero3", 8),
        "fsdp2": Launch("fsdp2", 8),
    }
    deepspeed = {"WORLD_SIZE": "4", "ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}
    assert launch_of_environment(deepspeed) == Launch("zero3", 4)
    assert launch_of_environment({"ACCELERATE_USE_CPU": "true"}) == Launch("one", 1, cpu=True)
    assert launch_of_environment({"WORLD_SIZE": "2", "ACCELERATE_USE_FSDP": "true"}) == Launch("fsdp2", 2)


def test_other_launches_and_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tpu.yaml").write_text("distributed_type: XLA\n")
    with pytest.raises(ValueError, match=r"tpu\.yaml: expected NO, MULTI_GPU, .* got XLA"):
        launch_of_file(tmp_path / "tpu.yaml")
    with pytest.raises(ShapeError, match=r"nothing: no config\.json there, and the name is none of \['Qwen3\.5-122B-A10B'"):
        shape_of(tmp_path / "nothing")
    with pytest.raises(ShapeError, match=r"model_type: expected llama, qwen3, .* got 'gpt2'"):
        read({"model_type": "gpt2"}, "x")


# The scripts


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "train").glob("[sot]*/*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_run_can_be_estimated(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accelerate = "ddp" if path.stem.startswith("qwen") else "cpu"
    arguments = ["--config", str(path), "--dry-run", "--dry_run_launch", f"accelerate_configs/{accelerate}.yaml"]
    if "cut" in path.stem:
        return  # a model that scripts/cut_model.py makes
    script(f"train/{path.parent.name}.py").main(arguments)
    said = capsys.readouterr().out
    assert said.startswith("Estimate, not a measurement: ")
    asked = yaml.safe_load(path.read_text(encoding="utf-8"))
    sampled = "rollouts" in asked
    assert ("What vLLM computes and holds to sample is not in it" in said) == sampled
    assert ("rollout: decoding" in said) == (path.parent.name == "opd" and not sampled)
    served = asked.get("teacher") == "served"
    assert ("The served teacher's own step is not in it" in said) == served
    assert ("\n  teacher  " in said) == (path.parent.name == "opd" and not served)


def test_thoughts_are_written_too(tmp_path: Path) -> None:
    tiny_thoughts(tmp_path)
    arguments = script("train/thinking.py").Arguments(base=tmp_path / "Qwen3.5-2B", out=tmp_path, thoughts=tmp_path)
    first = json.loads((tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()[0])
    one = len(f"{first['thought']}\nAnswer:\n{first['completion']}".encode()) / 4 + 1  # 4 bytes a token, and the stop token
    assert of_thinking(arguments).run.rows.longest_completion >= one > len(first["completion"]) / 4 + 1


def test_whole_dialogues_are_not_estimated() -> None:
    arguments = ["--config", "configs/train/opd/qwen3.5_4b.yaml", "--dry-run", "--window", "0"]
    with pytest.raises(ValueError, match="window must be above 0 in a dry run, got 0"):
        script("train/opd.py").main(arguments)


def test_a_dry_run_reads_the_users_rows_and_touches_nothing(tmp_path: Path) -> None:
    tiny_traces(tmp_path / "traces")
    out = tmp_path / "out"
    arguments = ["--config", "configs/train/opd/qwen3.5_4b.yaml", "--traces", tmp_path / "traces", "--out", out, "--dry-run"]
    code = "import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    code += "; assert not {'torch', 'transformers'} & set(sys.modules)"
    run = subprocess.run([sys.executable, "-c", code, "train/opd.py", *arguments], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert "Qwen3.5-4B on 1 x H200 (one), bfloat16" in run.stdout
    assert "24 rows, 4 bytes a token assumed" in run.stdout
    assert "frozen 4,205,751,296" in run.stdout
    assert not out.exists()
    arguments += ["--dry_run_launch", "accelerate_configs/ddp.yaml", "--micro_batch", "32"]
    run = subprocess.run([sys.executable, "train/opd.py", *arguments], capture_output=True, text=True, cwd=ROOT)
    assert "rows_per_step must be a multiple of micro_batch x ranks (32 x 8), got 128" in run.stderr


def test_a_run_recorded_without_the_fields_of_a_dry_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, config = script("train/sft.py"), ["--config", str(ROOT / "configs/train/sft/qwen3.5_4b.yaml"), "--out", str(tmp_path)]
    recorded = plain(parse(module.Arguments, config, None))
    recorded = {name: value for name, value in recorded.items() if not name.startswith("dry_run")}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(recorded))
    (tmp_path / "metrics.json").write_text("{}")
    module.main(config)
    assert capsys.readouterr().out == f"{tmp_path} is complete\n"


def test_what_does_not_fit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    config = str(ROOT / "configs/train/sft/qwen3.5_9b.yaml")
    script("train/sft.py").main(["--config", config, "--dry-run", "--checkpointing", "false", "--micro_batch", "32"])
    assert "It does not fit: " in capsys.readouterr().out


def test_the_tables_of_the_document_are_the_estimators_own() -> None:
    document = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert with_tables(document) == document, "python -m intentfold.training.plan.tables docs/scaling.md writes them anew"
    assert all(f"<!-- table: {name} -->" in document for name in TABLES)


# Against real models

torch = pytest.importorskip("torch")

# What in the first layer reads nothing that depends on an adapter: in the hybrid all of it, down_proj being the first adapted.
FIRST = {
    "base": ("q_proj", "k_proj", "v_proj"),
    "hybrid": ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj", "gate_proj", "up_proj", "down_proj"),
}


def test_shapes_are_those_of_real_models(tmp_path: Path) -> None:
    from intentfold.models import load

    base = tiny_model(tmp_path / "base")
    for folder in (base, tiny_hybrid(base, tmp_path / "hybrid")):
        model, _ = load(folder)
        assert shape_of(folder).parameters == model.num_parameters(), folder.name


@pytest.mark.parametrize("kind", ["base", "hybrid"])
def test_flops_of_matrices_are_those_that_torch_counts(tmp_path: Path, kind: str) -> None:
    from peft import LoraConfig, get_peft_model
    from torch.utils.flop_counter import FlopCounterMode

    from intentfold.models import load

    folder = tiny_model(tmp_path / "base")
    if kind == "hybrid":
        folder = tiny_hybrid(folder, tmp_path / "hybrid")
    shape, targets = shape_of(folder), ["q_proj", "v_proj", "down_proj"]
    bare, _ = load(folder, attention="eager")
    model = get_peft_model(bare, LoraConfig(r=4, target_modules=targets, task_type="CAUSAL_LM"))
    ids = torch.arange(3, 67)[None]

    def counted(counter: FlopCounterMode) -> int:
        return sum(flops for op, flops in counter.get_flop_counts()["Global"].items() if str(op) in ("aten.mm", "aten.addmm"))

    with FlopCounterMode(display=False) as ahead:
        loss = model(input_ids=ids, labels=ids).loss
    with FlopCounterMode(display=False) as back:
        loss.backward()
    tokens, adapter = ids.numel(), shape.adapter(4, targets)
    assert counted(ahead) == 2 * tokens * (shape.active + shape.head + adapter)
    # Nobody asks for the gradient of what comes before the first adapter.
    first = sum(one.size + (4 * one.into if one.name in targets else 0) for one in shape.matrices if one.name in FIRST[kind])
    assert counted(back) == 2 * tokens * (shape.active + shape.head + 2 * adapter - first)
