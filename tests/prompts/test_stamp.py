"""An adapter is asked what it was trained on, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentfold.prompts.stamp import Stamp, StampError, check_stamp, write_stamp
from intentfold.prompts.tracker import tracker_template_hash


def test_the_template_that_it_was_trained_on_passes(tmp_path: Path) -> None:
    write_stamp(tmp_path, Stamp("tracker", tracker_template_hash("delta")))
    check_stamp(tmp_path, "delta")


@pytest.mark.parametrize(
    ("stamp", "codec", "what"),
    [
        (Stamp("tracker", "0123456789abcdef"), "delta", "template 0123456789abcdef"),
        (Stamp("tracker", tracker_template_hash("delta")), "full", "codec full"),
        (Stamp("checker", tracker_template_hash("delta")), "delta", "trained as a checker"),
    ],
)
def test_another_is_an_error_that_names_both(tmp_path: Path, stamp: Stamp, codec: str, what: str) -> None:
    write_stamp(tmp_path, stamp)
    with pytest.raises(StampError, match=what) as error:
        check_stamp(tmp_path, codec)  # type: ignore[arg-type]
    assert str(tmp_path) in str(error.value)


def test_an_adapter_from_elsewhere_passes(tmp_path: Path) -> None:
    check_stamp(tmp_path, "delta")
