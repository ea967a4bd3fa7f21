"""Small parts for tests: a two-layer model with a byte-level tokenizer and a ChatML template, and a few episodes."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from typing import Any

from intentfold.asset import ContextualIntent, Requirement
from intentfold.codec.thinking import Style
from intentfold.codec.verdict import Judgement, encode_verdict
from intentfold.dialogue import Output, Turn
from intentfold.example import Example, Provenance
from intentfold.graders import grade
from intentfold.intent import Edit, IntentState, fold
from intentfold.mining.card import write_dataset
from intentfold.mining.examples import oracle_examples
from intentfold.mining.rationales import agent_case, scripted_drafts, sift
from intentfold.prompts.checker import checker_prompt, checker_template_hash
from intentfold.records import write_jsonl
from intentfold.task import Goal, SourceTask
from intentfold.trace import Branch, Episode, EpisodeTurn
from tests.episodes import house, small_house

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing in a test may look for a hub
ROOT = Path(__file__).parent.parent
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SLOTS = {"city": ("Oslo", "Rome", "Lima"), "seats": ("2", "3", "5"), "day": ("Monday", "Friday")}


def script(path: str) -> Any:
    """A script of the checkout as a module."""
    spec = importlib.util.spec_from_file_location(f"{Path(path).stem}_under_test", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tiny_tokenizer(template: str | None = CHATML):
    """Byte-level, 256 bytes and three special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: place for place, symbol in enumerate(["<unk>", "<|im_start|>", "<|im_end|>", *alphabet])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<unk>", "<|im_start|>", "<|im_end|>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<|im_start|>", eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.chat_template = template
    return tokenizer


def tiny_model(folder: Path, seed: int = 0, layers: int = 2, template: str | None = CHATML) -> Path:
    """A Llama of two layers and width 32, with its tokenizer, saved in `folder`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny_tokenizer(template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_hybrid(base: Path, folder: Path) -> Path:
    """A tiny Qwen3.5, whose layers are partly linear attention, with the tokenizer of `base`."""
    import torch
    from transformers import AutoTokenizer, Qwen3_5ForCausalLM, Qwen3_5TextConfig

    tokenizer = AutoTokenizer.from_pretrained(base)
    torch.manual_seed(5)
    model = Qwen3_5ForCausalLM(
        Qwen3_5TextConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            layer_types=["linear_attention", "full_attention"],
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            linear_num_key_heads=2,
            linear_num_value_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_episodes(count: int = 8, turns: int = 3, seed: int = 0, branches: int = 0) -> list[Episode]:
    """Episodes that set a slot a turn and then change one; the words are dull on purpose."""
    return [_episode(number, turns, branches, random.Random(f"{seed}/{number}")) for number in range(count)]


def _episode(number: int, turns: int, branches: int, rng: random.Random) -> Episode:
    goals = tuple(Goal(f"g{n}", f"{slot}: {values[0]}", slot, values[0]) for n, (slot, values) in enumerate(SLOTS.items()))
    task = SourceTask(f"tiny-{number}", "tiny", f"tiny-{number}", "CC0-1.0", "Book a table.", goals, "text", {})
    state, steps, free = IntentState(), [], rng.sample(sorted(SLOTS), len(SLOTS))
    for turn in range(turns):
        if turn < turns - 1 and free:
            slot = free.pop()
            value = rng.choice(SLOTS[slot])
            edits: tuple[Edit, ...] = (Edit("ADD", slot=slot, value=value),)
            user = f"The {slot} is {value}."
        else:
            item = rng.choice(state.items)
            value = rng.choice([v for v in SLOTS[item.slot or ""] if v != item.value])
            edits, user = (Edit("REPLACE", id=item.id, value=value),), f"Make the {item.slot} {value}."
        others = tuple(Branch(f"Add note {n}: bring {rng.randrange(99)}.", (), ()) for n in range(branches))
        state = fold(state, edits)
        steps.append(EpisodeTurn(user, edits, state, (), "Fine." if turn < turns - 1 else "", others))
    return Episode(1, f"tiny-{number}", task, 1, "train", "train", number, (), tuple(steps), "Book a table.", ())


def tiny_traces(folder: Path, count: int = 8, turns: int = 3) -> Path:
    """A folder of traces with splits train and dev."""
    write_jsonl(folder / "train.jsonl", tiny_episodes(count, turns))
    write_jsonl(folder / "dev.jsonl", tiny_episodes(2, turns, seed=1))
    return folder


def tiny_examples(count: int = 8) -> list[Example]:
    """The oracle examples of the tiny episodes."""
    return [example for episode in tiny_episodes(count) for example in oracle_examples(episode)]


def tiny_dataset(folder: Path, count: int = 8) -> Path:
    """A dataset folder with splits train and dev."""
    examples = tiny_examples(count)
    write_dataset(folder, {"train": examples, "dev": examples[:3]}, {})
    return folder


JUDGEMENTS = (Judgement("met"), Judgement("unmet", "no tea"), Judgement("not_applicable"))


def tiny_judgements(outputs: int = 8, questions: int = 3) -> list[Example]:
    """Checker examples: so many outputs, and about each so many questions, verdicts in turn."""
    found = []
    for number in range(outputs):
        output = Output(f"Table {number} is laid: cups, plates and {number + 2} spoons stand ready, the window is open.")
        for asked in range(questions):
            judgement = JUDGEMENTS[(number + asked) % 3]
            intent = ContextualIntent(1, f"why {asked}", (Requirement(1, f"want {asked}"),))
            shown = ((Turn("user", f"Lay table {number}."),), output, intent, intent.requirements[0])
            where = Provenance(
                f"h{number}", 1, "train", "train", "tiny", f"u{number}", "CC0-1.0", 1, "unmet", "verdict",
                checker_template_hash(), (judgement.verdict,),
            )  # fmt: skip
            messages, told = checker_prompt(*shown), checker_prompt(*shown, privileged=judgement)
            found.append(Example(1, messages, told, encode_verdict(judgement), where))
    return found


def tiny_checker_dataset(folder: Path, outputs: int = 8) -> Path:
    """A dataset folder of judgements with splits train and dev."""
    examples = tiny_judgements(outputs)
    write_dataset(folder, {"train": examples, "dev": examples[:3]}, {}, "data_gen/mine_checker.py")
    return folder


def tiny_thoughts(folder: Path, count: int = 8, style: Style = "plain") -> Path:
    """A dataset folder of an agent's thoughts on two small stories, drifting and clean, with splits train and dev."""
    stories = [make(f"{make.__name__}{number}") for number in range(count // 2) for make in (house, small_house)]
    cases = [agent_case(story, told, grade) for told in ("drift", "clean") for story in stories]
    examples = [sift(case, scripted_drafts([case]), style, 1)[0][0] for case in cases]
    write_dataset(folder, {"train": examples, "dev": examples[:3]}, {}, "data_gen/mine_rationales.py")
    return folder
