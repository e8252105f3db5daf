"""What produced the numbers, as far as a reader needs it to get them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.control.reports import RunReport
from engine.report.markup import Child, Html, as_json, el, facts, section, table
from engine.store.environment_record import BatchedRecord, EnvironmentRecord

DETERMINISM = {
    "exact": "exact: the same bits at every number of workers",
    "seeded": "seeded: as equal as its seeds make it",
    "none": "none: another run may differ",
}


def provenance(report: RunReport) -> Html:
    summary, environment = report.summary, report.environment
    config = summary.config
    told: list[tuple[str, Child]] = [
        ("run", el("code", report.run_id)),
        ("label", report.label),
        ("graph", config.graph_name),
        ("environment", config.env_nodeset),
        ("split", config.split),
        ("selectors", as_json(config.selectors) if config.selectors else None),
        ("seed", str(config.seed)),
        ("workers", str(config.worker_count)),
        ("step budget", str(config.step_budget) if config.step_budget is not None else None),
        ("created", summary.created_at),
        ("started", summary.started_at),
        ("finished", summary.finished_at),
        ("result digest", el("code", summary.result_digest) if summary.result_digest else None),
    ]
    if environment is None:
        return section("Provenance", facts(told), name="provenance")
    told += [
        ("determinism", DETERMINISM[environment.determinism]),
        ("commit", el("code", environment.git_commit) if environment.git_commit else None),
        ("host", _in_words(environment.host)),
        ("GPUs", "; ".join(_in_words(gpu) for gpu in environment.gpus)),
        ("versions", _in_words(environment.versions)),
        ("run again by", el("code", environment.command) if environment.command else None),
    ]
    return section("Provenance", facts(told), *_tables(environment), name="provenance")


def regimes(environment: EnvironmentRecord) -> list[str]:
    """How models were batched, each way once: ``policy_x act: padded 8``."""
    return list(dict.fromkeys(f"{batched.tool}: {_regime(batched)}" for batched in environment.batched))


def _regime(batched: BatchedRecord) -> str:
    return batched.regime if batched.shape is None else f"{batched.regime} {batched.shape}"


def _tables(environment: EnvironmentRecord) -> list[Child]:
    nodesets = [
        [one.name, one.parallelism, one.determinism, el("code", one.source_hash), _in_words(one.versions)]
        for one in environment.nodesets
    ]
    batched = [
        [one.nodeset, one.tool, _regime(one), one.cpu, _in_words(one.threads or {}), el("code", one.digest)]
        for one in environment.batched
    ]
    models = [[one.profile, one.model, one.base_url, one.determinism] for one in environment.models]
    return [
        table(["nodeset", "parallelism", "determinism", "source", "versions"], nodesets)
        if nodesets
        else None,
        table(["batched by", "tool", "regime", "CPU", "threads", "check"], batched) if batched else None,
        table(["profile", "model", "server", "determinism"], models) if models else None,
    ]


def _in_words(found: Mapping[str, Any]) -> str:
    """``python 3.11.7, torch 2.13.0``."""
    return ", ".join(
        f"{name} {value if isinstance(value, str) else as_json(value)}" for name, value in found.items()
    )
