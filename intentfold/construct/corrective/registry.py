"""The built-in families, by name."""

from __future__ import annotations

from intentfold.construct.corrective.families import booking, report_file, research_note, review_script, scheduling
from intentfold.construct.corrective.work import Family

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY for module in (review_script, research_note, booking, report_file, scheduling)
}
