"""Proofs before the first step (design D2): what would otherwise be a bad model after the last is an error here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intentfold.codec.thinking import CLOSE, OPEN, Style, Thinking, completion_message, decode_thinking
from intentfold.example import Example
from intentfold.prompts.templates import Role, role_of, template_hash
from intentfold.prompts.tracker import WINDOW, trunk_of
from intentfold.training.row_source import Asked


class PreflightError(ValueError):
    """A run that would train something else than what is meant."""


def check_template(tokenizer: Any, template_kwargs: Mapping[str, Any]) -> None:
    """The chat template must have a generation prompt, and it must come last."""
    if tokenizer.chat_template is None:
        raise PreflightError("the tokenizer has no chat template")
    messages = [{"role": "user", "content": "a"}]
    bare = prompt_ids(tokenizer, messages, template_kwargs, generation_prompt=False)
    asked = prompt_ids(tokenizer, messages, template_kwargs)
    if asked == bare:
        raise PreflightError("the chat template has no generation prompt (add_generation_prompt changes nothing)")
    if asked[: len(bare)] != bare:
        raise PreflightError("the chat template's generation prompt does not come last: training and inference would differ")


def check_thinking(tokenizer: Any, template_kwargs: Mapping[str, Any], style: Style) -> None:
    """What is trained as thought and answer must be what a model writes after the generation prompt, read back as the same."""
    asked: list[dict[str, str]] = [{"role": "user", "content": "a"}]
    said = Thinking("what leads there", "the answer")
    options: dict[str, Any] = {"tokenize": False, **template_kwargs}
    before = tokenizer.apply_chat_template(asked, add_generation_prompt=True, **options)
    whole = tokenizer.apply_chat_template([*asked, completion_message(said.thought, said.answer, style)], **options)
    if said.thought not in whole:
        raise PreflightError("the chat template drops the reasoning of a message: mine with style plain, not think")
    if style == "think" and before.rstrip().endswith(CLOSE):
        raise PreflightError(
            f"the generation prompt ends in a thought that is over ({before[-40:]!r}), so no reasoning can follow it: "
            "train and serve with chat_template_kwargs {enable_thinking: true}"
        )
    if style == "plain" and before.rstrip().endswith(OPEN):
        raise PreflightError(
            f"the generation prompt opens a thought of its own ({before[-40:]!r}): mine with style think, or train and serve "
            "with chat_template_kwargs {enable_thinking: false}"
        )
    if not whole.startswith(before):
        raise PreflightError(f"the generation prompt {before[-60:]!r} is no beginning of an answer with its reasoning")
    written = whole[len(before) :]
    if decode_thinking(written.partition(tokenizer.eos_token)[0], style) != said:
        raise PreflightError(f"thought and answer cannot be read back from {written!r}")


def prompt_ids(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    template_kwargs: Mapping[str, Any],
    *,
    generation_prompt: bool = True,
) -> list[int]:
    """The ids that a model is asked with at inference."""
    encoded = tokenizer.apply_chat_template(
        list(messages), add_generation_prompt=generation_prompt, tokenize=True, return_dict=True, **template_kwargs
    )
    return list(encoded["input_ids"])


def check_rows(
    rows: Sequence[Mapping[str, Any]],
    trained: Sequence[Mapping[str, Sequence[int]]],
    tokenizer: Any,
    stop_ids: Sequence[int],
    max_length: int,
) -> None:
    """Each of TRL's tokenised rows must be its prompt as asked at inference, then a loss that covers the whole completion.

    `rows` are conversational prompt/completion rows with an `id`; `trained` are what TRL made of them
    (`input_ids`, `labels`), in the same order. `chat_template_kwargs` of a row go to the template.
    """
    if len(rows) != len(trained):
        raise PreflightError(f"{len(rows)} rows went in and {len(trained)} came out of TRL's preparation")
    for row, made in zip(rows, trained, strict=True):
        ids, labels = list(made["input_ids"]), list(made["labels"])
        prompt = prompt_ids(tokenizer, row["prompt"], row["chat_template_kwargs"])
        if len(ids) > max_length:
            raise PreflightError(f"row {row['id']}: {len(ids)} tokens (prompt {len(prompt)}), more than max_length {max_length}")
        if ids[: len(prompt)] != prompt:
            raise PreflightError(f"row {row['id']}: the prompt's ids in training are not those at inference")
        if labels != [-100] * len(prompt) + ids[len(prompt) :]:
            raise PreflightError(f"row {row['id']}: the loss must cover the completion and nothing else")
        said = ids[len(prompt) :]
        stop = next((place for place, id in enumerate(said) if id in stop_ids), None)
        if stop is None:
            raise PreflightError(
                f"row {row['id']}: no stop token ({list(stop_ids)}) in the loss; the model would not learn to stop"
            )
        text, message = tokenizer.decode(said[:stop]), row["completion"][0]
        if "reasoning_content" in message:
            same = decode_thinking(text, "think") == Thinking(message["reasoning_content"], message["content"])
        else:
            same = text.strip() == message["content"].strip()
        if not same:
            raise PreflightError(f"row {row['id']}: the completion reads {text!r} up to its stop token")


def check_one_template(examples: Sequence[Example], role: Role = "tracker") -> str:
    """All examples must be of one role and template, which must be the one that the runtime renders now; returns its hash."""
    made = {(example.provenance.codec, example.provenance.template) for example in examples}
    if len(made) > 1:
        raise PreflightError(f"the examples were rendered with different templates: {sorted(made)}")
    codec, found = next(iter(made))
    if role_of(codec) != role:
        raise PreflightError(f"the examples are for the {role_of(codec)} (codec {codec}), the run trains a {role}")
    now = [template_hash(codec, window) for window in (WINDOW, None)]  # equal but for a tracker
    if found not in now:
        raise PreflightError(f"the examples were rendered with template {found}, the runtime renders with {now}: mine them again")
    return found


def check_operations(examples: Sequence[Example]) -> None:
    """To weigh lines by what they fold to, every example must say it, as a tracker's edits do since mining writes it down."""
    bare = [example.provenance for example in examples if not example.provenance.operations]
    if bare:
        raise PreflightError(
            f"operation_weights: {bare[0].episode}:{bare[0].turn} (codec {bare[0].codec}) and {len(bare) - 1} more examples do "
            "not say what their lines fold to: a tracker's edits do, mined with this version"
        )


def check_size(rows: int, rows_per_step: int, what: str) -> None:
    """A dataset smaller than one optimizer step trains nothing, or the same rows twice in one step."""
    if rows < rows_per_step:
        raise PreflightError(f"{what}: {rows} rows are fewer than one optimizer step takes ({rows_per_step})")


def check_adapter(model: Any) -> None:
    """The adapter must sit on some layers, on none outside the language model, and not on the output head."""
    adapted = [name for name, module in model.named_modules() if hasattr(module, "lora_A") and len(module.lora_A)]
    if not adapted:
        raise PreflightError(f"the adapter matches no layer of {type(model.get_base_model()).__name__}")
    outside = [name for name in adapted if "visual" in name or "vision" in name or name.endswith("lm_head")]
    if outside:
        raise PreflightError(f"the adapter must sit on the language model's layers alone, found {outside[0]}")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise PreflightError("nothing in the model is trainable")


def stop_ids(model: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a completion: the model's and the tokenizer's."""
    declared = model.generation_config.eos_token_id
    ids = [] if declared is None else [declared] if isinstance(declared, int) else list(declared)
    return sorted({*ids, tokenizer.eos_token_id} - {None})


def check_vocabulary(student: Any, teacher: Any) -> None:
    """Teacher and student must give every token the same id (tokenizers of two model folders)."""
    ours, theirs = student.get_vocab(), teacher.get_vocab()
    if ours != theirs:
        differing = sorted(ours.items() ^ theirs.items())[:3]
        raise PreflightError(f"teacher and student have different vocabularies, for one: {differing}")


def check_prompt_lengths(
    tokenizer: Any,
    prompts: Iterable[tuple[str, Sequence[Mapping[str, str]]]],
    template_kwargs: Mapping[str, Any],
    max_prompt: int,
) -> None:
    """No prompt (name, messages) may be longer than what `max_length` leaves beside a completion.

    A token stands for at least one byte: what has no more bytes than `max_prompt`, with what the chat template puts around
    them, need not be tokenised.
    """
    around: dict[tuple[str, ...], int] = {}
    for name, messages in prompts:
        roles = tuple(message["role"] for message in messages)
        if roles not in around:
            shortest = [{"role": role, "content": "a"} for role in roles]
            text = tokenizer.apply_chat_template(shortest, add_generation_prompt=True, tokenize=False, **template_kwargs)
            around[roles] = len(text.encode())
        if sum(len(message["content"].encode()) for message in messages) + around[roles] <= max_prompt:
            continue
        length = len(prompt_ids(tokenizer, messages, template_kwargs))
        if length > max_prompt:
            raise PreflightError(
                f"{name}: the prompt has {length} tokens, more than the {max_prompt} that max_length leaves for it"
            )


def check_trunks(tokenizer: Any, asked: Sequence[Asked], template_kwargs: Mapping[str, Any]) -> None:
    """A trunk's ids must be what both prompts of its row begin with, and what the trunks of later turns begin with (D5).

    `asked` are whole-history rows, those of a dialogue side by side, turn by turn. Where it fails nothing would be wrong, but
    what the text of the rows has in common would be computed for each.
    """
    before: list[tuple[str, list[int]]] = []
    for one in asked:
        for messages in (one.prompt(), one.privileged_prompt()):
            shared = trunk_of(messages[-1]["content"])
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **template_kwargs)
            if not shared or shared not in text:
                raise PreflightError(f"{one.name}: expected the dialogue as it is in the rendered prompt, got {text[:200]!r}")
            trunk = list(tokenizer(text[: text.rindex(shared) + len(shared)], add_special_tokens=False)["input_ids"])
            while before and not shared.startswith(before[-1][0]):
                before.pop()
            earlier = [("the trunk of a later turn", trunk, ids) for _, ids in before[-1:]]
            for what, ids, wanted in (*earlier, ("the prompt", prompt_ids(tokenizer, messages, template_kwargs), trunk)):
                if ids[: len(wanted)] != wanted:
                    alike = next(n for n, id in enumerate(wanted) if ids[n : n + 1] != [id])
                    raise PreflightError(
                        f"{one.name}: {what} leaves the trunk at token {alike} of {len(wanted)}, "
                        f"{tokenizer.decode(ids[alike : alike + 3])!r} for {tokenizer.decode(wanted[alike : alike + 3])!r}: "
                        "with this tokenizer the turns of a dialogue share no more"
                    )
            before.append((shared, trunk))


def check_teacher(
    teacher: Sequence[Sequence[int]], student: Sequence[Sequence[int]], right: Sequence[Sequence[int]]
) -> dict[str, float]:
    """The gate of design D4; returns the scores that it passed with.

    `right` are whole right answers as ids, the stop token last; `teacher` and `student` what either would say at
    each place of them. All places right is the same as answering so greedily.
    """
    if not right:
        raise PreflightError("no rows to score the teacher on")

    def share(said: Sequence[Sequence[int]], first: int | None) -> float:
        pairs = zip(said, right, strict=True)
        return sum(list(a)[first:] == list(b)[first:] for a, b in pairs) / len(right)

    scores = {"teacher": share(teacher, None), "student": share(student, None), "teacher_stops": share(teacher, -1)}
    if scores["teacher_stops"] < 0.9:
        raise PreflightError(
            f"the teacher would stop where the right answer ends in only {scores['teacher_stops']:.2f} of {len(right)} rows: "
            "it would teach the student to write on"
        )
    if scores["teacher"] <= scores["student"]:
        raise PreflightError(
            f"the teacher gives the whole right answer in {scores['teacher']:.2f} of {len(right)} rows, "
            f"the student in {scores['student']:.2f}: there is nothing to learn from it"
        )
    return scores
