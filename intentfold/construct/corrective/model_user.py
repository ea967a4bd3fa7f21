"""A language model in the user's place: it words what the selector chose, and every wording is audited."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from intentfold.construct.corrective import wording
from intentfold.construct.corrective.audit import Audit
from intentfold.construct.corrective.user import BOTH, Feedback, SimulatedUser
from intentfold.construct.corrective.work import Family, Scenario
from intentfold.dialogue import Dialogue, Output
from intentfold.prompts.user import reader_prompt, user_prompt
from intentfold.runtime.roles import Backend
from intentfold.trace import PrivateRequirement, Wording

MAX_TOKENS = 256
_QUOTED = re.compile(r"[“\"]([^“”\"]+)[”\"]")


class ModelUser(SimulatedUser):
    """Chooses as the scripted user does; `writer` words it, and `reader`, another role, tells what a message raises.

    Checked by code: what stands between quotation marks is in the output (grounding), and every value of a wish that is
    stated is in the message. Coverage and added requirements are read by the reader, who is shown the wishes of the whole
    family; what it says that cannot be read covers nothing. Requests and acceptances are of the bank.
    """

    attempts = 3

    def __init__(
        self,
        family: Family,
        scenario: Scenario,
        requirements: Sequence[PrivateRequirement],
        words: Wording,
        rng: random.Random,
        both: float = BOTH,
        *,
        writer: Backend,
        reader: Backend,
    ) -> None:
        super().__init__(family, scenario, requirements, words, rng, both)
        self.writer, self.reader = writer, reader

    def word(self, feedback: Feedback, dialogue: Dialogue, output: Output, refused: Sequence[str]) -> str:
        """The model's message; the bank's where there is nothing to raise. Raises `BackendError`."""
        if not feedback.points:
            return feedback.text
        prompt = user_prompt(dialogue, output, [clause for _, clause in feedback.points], refused)
        [completion] = self.writer.complete([prompt], MAX_TOKENS)
        return completion.text.strip()

    def audit(self, message: str, feedback: Feedback, output: Output) -> Audit:
        """What is wrong with the model's message. Raises `BackendError`."""
        if not feedback.points:
            return Audit((), (), ())
        visible = " ".join(output.text().split())
        ungrounded = tuple(words for words in _QUOTED.findall(message) if " ".join(words.split()) not in visible)
        wordless = {key for key, clause in feedback.points if not self._keeps(message, clause)}
        read = self._read(message)
        if read is None:
            return Audit(ungrounded, feedback.raised, ())
        uncovered = tuple(key for key in feedback.raised if key not in read or key in wordless)
        return Audit(ungrounded, uncovered, tuple(sorted(read - set(feedback.raised))))

    def asked(self, question: Output) -> tuple[str, ...]:
        """The requirements of the family that a question is about, as the reader understands it; none where it does not."""
        return tuple(sorted(self._read(question.reply) or ()))

    def _read(self, text: str) -> set[str] | None:
        """Keys of the wishes that a text raises, `another` for what is none of them; None where the answer is none."""
        known = wording.bank(self.words)[self.family.name]  # novel requirements have words in the test bank alone
        keys = [criterion.key for criterion in self.family.criteria if criterion.key in known]
        [completion] = self.reader.complete([reader_prompt(text, [self._wish(key) for key in keys])], 32)
        said = completion.text.strip()
        if said == "NONE":
            return set()
        if not re.fullmatch(r"\d{1,3}(?:[ ,]+\d{1,3})*", said):
            return None
        named = {int(number) for number in re.findall(r"\d+", said)}
        return {keys[n - 1] if n else "another" for n in named} if max(named) <= len(keys) else None

    def _keeps(self, message: str, clause: str) -> bool:
        """Whether the message has every value of the wish that the clause states."""
        stated = [said for said in wording.read(clause, self.words) if said.kind == "want"]
        return all(value.casefold() in message.casefold() for said in stated for value in said.values.values())

    def _wish(self, key: str) -> str:
        if key in self.requirements:
            return self.requirements[key].requirement
        return wording.fill(wording.bank(self.words)[self.family.name][key]["require"][0], self.scenario.values)
