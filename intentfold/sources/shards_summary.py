"""Sharded Summary of a Haystack (Laban et al. 2024): insights to find in documents, cited. Only a judge can grade it.

Its shards are documents by number: every turn hands over some of them, and the query says what the summary is about.
"""

from __future__ import annotations

from typing import Any

from intentfold.sources.loading import SourceError, checked, listed
from intentfold.sources.shards import SPLIT, Shards
from intentfold.task import Goal, SourceTask


def task(shards: Shards) -> SourceTask:
    """The task: `payload["reference"]` holds every insight with the numbers of those documents at hand that carry it."""
    documents = {}
    for one in shards.field("documents", list):
        fields: dict[str, type] = {"document_index": int, "document_text": str}
        found = checked(f"{shards.where}: field documents", one, fields)
        documents[found["document_index"]] = found["document_text"]
    citations = shards.field("insightid2ref_citations", dict)
    insights: list[dict[str, Any]] = []
    for one in shards.field("insights", list):
        found = checked(f"{shards.where}: field insights", one, {"insight_id": str, "insight": str})
        id = found["insight_id"]
        cited = listed(shards.where, f"insightid2ref_citations.{id}", citations.get(id), int)
        insights.append({"text": found["insight"], "documents": sorted(set(cited) & documents.keys())})
    handed = []
    for position, shard in enumerate(shards.record["shards"]):
        numbers = listed(f"{shards.where}: shard {position}", "doc_idxs", shard.get("doc_idxs"), int)
        if unknown := [number for number in numbers if number not in documents]:
            raise SourceError(f"{shards.where}: shard {position}: field doc_idxs names documents that are not there: {unknown}")
        handed.append(numbers)
    topic, query = shards.field("topic", str), shards.field("query", str)
    return SourceTask(
        id=shards.id,
        family="summary",
        origin=f"summary/{shards.field('topic_id', str)}/{shards.field('subtopic_id', str)}",
        license="MIT",
        request=f"Summarise what these documents say, as bullet points that cite documents by number in brackets. Topic: {topic}",
        goals=(Goal("g1", f"question to answer: {query}", "question to answer", query),),
        answer_form="summary",
        payload={
            "benchmark_split": SPLIT,
            "documents": {str(number): text for number, text in documents.items()},
            "handed": handed,
            "reference": {"insights": insights},
        },
    )
