"""Valid scripted content behind an endpoint: what a decomposer, a proposer and a simulator would answer about known tasks."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from intentfold.construct.build import WORDING_OF, Plan, Source, shards
from intentfold.construct.build import _wanted as wanted
from intentfold.construct.episode import clean_request, dice
from intentfold.construct.wording import bank
from intentfold.prompts.construction import DECOMPOSE, PROPOSE
from intentfold.task import SourceTask
from tests.served import chat


class Players:
    """Answers by the system message. Proposals open with one of no known name; `stubborn` proposes nothing else."""

    def __init__(self, plan: Plan) -> None:
        self.asked: Counter[str] = Counter()
        self.formats: Counter[str] = Counter()
        self.stubborn = False
        self.tasks: dict[str, SourceTask] = {}
        for shard in shards(plan):
            for one in wanted(plan, shard):
                goals = [goal for goal in one.task.goals if goal.kind == "goal"]
                rng = dice(one.task, one.load, one.wording, plan.seed)
                self.tasks[clean_request(one.task, goals, bank(WORDING_OF[one.split]), rng)] = one.task

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any] | int:
        system, said = (message["content"] for message in body["messages"])
        role = {DECOMPOSE: "decomposer", PROPOSE: "proposer"}.get(system, "simulator")
        self.asked[role] += 1
        self.formats[f"{role} {body.get('response_format', {}).get('type')}"] += 1
        return chat(getattr(self, role)(said), prompt_tokens=len(said), completion_tokens=5)

    def task(self, said: str) -> SourceTask:
        return next(task for request, task in self.tasks.items() if f"Request: {request}\n" in f"{said}\n")

    def decomposer(self, said: str) -> str:
        parts = [{"name": g.slot, "value": g.value, "quote": g.value} for g in self.task(said).goals if g.slot is not None]
        return json.dumps({"requirements": parts})

    def proposer(self, said: str) -> str:
        task = self.task(said)
        bad = {"name": "no such name", "value": "1"}
        if self.stubborn:
            return json.dumps({"variants": [bad], "decoys": []})
        values = {name: p["values"] for name, p in task.payload["parameters"].items()}
        refused = set(re.findall(r"^- (?:variant|decoy) (.*?): (.*?): ", said, re.MULTILINE))
        variants = [
            {"name": g.slot, "value": v}
            for g in task.goals
            if g.slot is not None
            for v in values[g.slot]
            if v != g.value and (g.slot, v) not in refused
        ]
        extra = said.split("Extra names:\n")[1].split("\n\n")[0]
        decoys = [
            {"name": name, "value": v}
            for name, some in values.items()
            if f"- {name} (" in extra
            for v in some
            if (name, v) not in refused
        ]
        return "Here: " + json.dumps({"variants": [bad, *variants], "decoys": decoys})

    def simulator(self, said: str) -> str:
        told = said.split("Say: ")[1].split("\nThese messages were refused")[0]
        if "These messages were refused" in said:
            return f"Well, {told}"
        return f"Well, {told} And 31415 more." if len(told) % 3 == 0 else f"Well, {told}"


PLAN = Plan((Source("tools", 8),), (1, 3), 5)
