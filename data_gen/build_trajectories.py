"""Build trajectories of evolving intentions over a shop and a trip domain, and the episodes that trackers train on.

    python data_gen/build_trajectories.py --config configs/data_gen/build_trajectories/recovery.yaml

With `data` the requests are WebShop's goal texts and TravelPlanner's reference records, from its folders webshop and
travelplanner; without, stand-ins of our own invention. Leaves in `out`: {train,dev,test}.jsonl of trajectories,
episodes/{train,dev,test}.jsonl for data_gen/mine_examples.py, and report.json with the mix of changes beside the paper's.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.leakage import TrainingIndex, leakage_error
from intentfold.construct.shop_world import ShopWorld, builtin_requests
from intentfold.construct.splits import split_of
from intentfold.construct.trajectories import MIXES, build_trajectory, mix_of
from intentfold.construct.trip_world import TripWorld, builtin_records
from intentfold.construct.wording import bank
from intentfold.construct.world import World
from intentfold.records import canonical_json, to_json, write_jsonl, write_text
from intentfold.sources.travelplanner import load_records
from intentfold.sources.webshop import load_goals
from intentfold.trace import Split, Wording
from intentfold.trajectory import Domain, Trajectory, as_episode

SPLITS: tuple[Wording, ...] = ("train", "dev", "test")
# A trip has few records: half of the origins train, two fifths test, and an origin gives several trajectories.
SHARES: tuple[tuple[Split, float], ...] = (("train", 0.5), ("dev", 0.1), ("test", 0.4))


@dataclass(frozen=True)
class Arguments:
    """What to build.

    Args:
        out: folder of what is built
        trajectories: split -> number of trajectories, in each domain
        data: folder that holds webshop and travelplanner; stand-ins without
        domains: shop, trip
        wordings: in training, at most so many templates of an act; 0 for the whole bank
        leak_budget: largest share of a held-out split that may be left out because the training part gives it away
        seed: seed of worlds and dialogues
    """

    out: Path
    trajectories: dict[str, int] = field(default_factory=lambda: {"train": 700, "dev": 40, "test": 320})
    data: Path | None = None
    domains: list[Domain] = field(default_factory=lambda: ["shop", "trip"])
    wordings: int = 0
    leak_budget: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if set(self.trajectories) != set(SPLITS) or min(self.trajectories.values()) < 1:
            raise ValueError(f"trajectories: expected at least one for each of {SPLITS}, got {self.trajectories}")
        if not self.domains or len(set(self.domains)) != len(self.domains):
            raise ValueError(f"domains: expected some of {get_args(Domain)}, each once, got {self.domains}")
        if self.wordings < 0 or not 0 <= self.leak_budget <= 1:
            raise ValueError(f"wordings must be at least 0, leak_budget in [0, 1], got {self.wordings}, {self.leak_budget}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    record_run(args.out, args)
    built: dict[Wording, list[Trajectory]] = {split: [] for split in SPLITS}
    skipped: dict[str, Mapping[str, int]] = {}
    for domain in args.domains:
        sources, skipped[domain] = requests(args, domain)
        for split in SPLITS:
            built[split] += told(args, domain, split, sources[split])
    index = TrainingIndex(map(as_episode, built["train"]))
    left: Counter[str] = Counter()
    for split in SPLITS[1:]:
        _, leaks = index.part(map(as_episode, built[split]))
        if len(leaks) > args.leak_budget * len(built[split]):
            raise leakage_error(f"{split} ({len(built[split])} trajectories)", leaks)
        left.update(f"leak by {leak.kind}" for leak in leaks)
        leaking = {leak.episode for leak in leaks}
        built[split] = [trajectory for trajectory in built[split] if trajectory.id not in leaking]
    for split in SPLITS:
        write_jsonl(args.out / "episodes" / f"{split}.jsonl", map(as_episode, built[split]))
        write_jsonl(args.out / f"{split}.jsonl", built[split])
    report: dict[str, Any] = {"skipped": skipped, "left": dict(left), "mix": {}}
    for split in SPLITS:
        for domain in args.domains:
            mix = mix_of([trajectory for trajectory in built[split] if trajectory.domain == domain])
            report["mix"][f"{domain}, {split}"] = to_json(mix)
            print(f"{domain}, {split}: {json.dumps(to_json(mix))}")
    print(f"skipped: {skipped}; left out: {dict(left)}")
    write_text(args.out / "report.json", canonical_json(report) + "\n")


def requests(args: Arguments, domain: Domain) -> tuple[dict[Wording, list[Any]], Mapping[str, int]]:
    """The domain's goal texts or records by split, and what was skipped, by reason."""
    skipped: Mapping[str, int] = {}
    sources: dict[Wording, list[Any]] = {split: [] for split in SPLITS}
    if args.data is None and domain == "shop":
        # A stand-in's opening words are a wording, so each split invents its own.
        for split in SPLITS:
            rng = random.Random(f"{args.seed}/shop/{split}")
            sources[split] = builtin_requests(args.trajectories[split], rng, bank(split, 0, "trajectory_"))
        return sources, skipped
    if args.data is None:
        found: Any = builtin_records(600, random.Random(f"{args.seed}/trip"))
    else:
        found, skipped = load_goals(args.data / "webshop") if domain == "shop" else load_records(args.data / "travelplanner")
    for source in found:
        part = split_of(source.origin, domain, shares=SHARES)
        assert part != "held_out_family"
        sources[part].append(source)
    return sources, skipped


def told(args: Arguments, domain: Domain, split: Wording, sources: list[Any]) -> list[Trajectory]:
    """The split's trajectories, its origins in turn."""
    if not sources:
        raise SystemExit(f"{domain}: no origin falls into {split}")
    trajectories = []
    for number in tqdm(range(args.trajectories[split]), desc=f"{domain}, {split}"):
        source, place = sources[number % len(sources)], SPLITS.index(split) * 100_000 + number
        rng = random.Random(f"{args.seed}/world/{domain}/{place}")
        world: World = ShopWorld(source, rng) if domain == "shop" else TripWorld(source, rng)
        trajectories.append(build_trajectory(world, split, split, args.seed, place, MIXES[domain], args.wordings))
    return trajectories


if __name__ == "__main__":
    main()
