"""The distillation benchmark: its trainers draw the student the same way, and its verdicts can fail."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from intentfold.training.benchmark import Arm, Dialogues, Marks, Shape, make_trainer
from tests.tiny import script

TINY = Shape(turns=3, steps=1, student=(32, 1), teacher=(32, 1), vocabulary=60, system=9, turn=5, state=3, written=4, seed=0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Marks, Path]]:
    found = {}
    for arm in get_args(Arm):
        out = tmp_path_factory.mktemp(arm)
        marks = Marks()
        trainer = make_trainer(arm, Dialogues(TINY), str(out))
        trainer.add_callback(marks)
        trainer.train()
        np.save(out / "gradient.npy", marks.gradient)
        found[arm] = (marks, out)
    return found


def test_every_arm_takes_its_steps(runs: dict[str, tuple[Marks, Path]]) -> None:
    assert {arm: len(marks.ends) for arm, (marks, _) in runs.items()} == dict.fromkeys(get_args(Arm), 2)


def test_gradients_of_given_tokens_agree(runs: dict[str, tuple[Marks, Path]], capsys: pytest.CaptureFixture[str]) -> None:
    bench = script("scripts/bench_opd.py")
    bench.check_gradients({arm: out for arm, (_, out) in runs.items()})
    # GKDTrainer divides by the tokens of its data set's own answers, one a row here, not by those that were written.
    assert "trl_gkd: gradient" in capsys.readouterr().out
    assert np.linalg.norm(runs["trl_gkd"][0].gradient) == pytest.approx(
        TINY.written * np.linalg.norm(runs["trl_distillation"][0].gradient), rel=1e-4
    )


def test_a_gradient_of_its_own_is_an_error(runs: dict[str, tuple[Marks, Path]], tmp_path: Path) -> None:
    bench = script("scripts/bench_opd.py")
    np.save(tmp_path / "gradient.npy", runs["intentfold"][0].gradient * 1.001)
    with pytest.raises(ValueError, match=r"intentfold: the gradient of given tokens is 0\.001 of its norm"):
        bench.check_gradients({"trl_distillation": runs["trl_distillation"][1], "intentfold": tmp_path})


def test_a_state_of_ones_own_is_as_long_as_the_oracles() -> None:
    dialogues = Dialogues(TINY)
    prompt = dialogues.prompts[0][1]
    own = dialogues.after(prompt, "w7 w8")
    assert own.split()[:-3] == prompt.split()[:-3]
    assert own.split()[-3:] == ["w7", "w8", prompt.split()[-3]]


def test_the_share_of_tokens() -> None:
    # 8 turns: a trunk of 128 + 8 * 48 and 8 branches of 48, against rows of 224, 272, ... 560.
    assert script("scripts/bench_opd.py").token_share(8) == pytest.approx(896 / 3136)
