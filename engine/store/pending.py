"""The summary of a run that has not begun, and of one that has ended before."""

from __future__ import annotations

from engine.store.records import EndedAs, Spec, Summary, SummaryConfig, SummaryHead


def pending_summary(spec: Spec, env_nodeset: str | None = None) -> Summary:
    """What ``spec`` asks for, in short. ``env_nodeset``: the graph's environment, where it is known."""
    asked = spec.eval
    config = SummaryConfig(
        graph_name=asked.graph_name,
        env_nodeset=env_nodeset,
        selectors=asked.selectors,
        episode_selectors=asked.episode_selectors,
        split=asked.split,
        episode_count=asked.episode_count,
        step_budget=asked.step_budget,
        worker_count=asked.worker_count,
        seed=asked.seed,
        repeats=asked.repeats,
        until_width=asked.until_width,
        until_metric=asked.until_metric,
    )
    return Summary(run_id=spec.run_id, config=config, status="pending", created_at=spec.created_at)


def stand_again(head: SummaryHead, before: EndedAs) -> None:
    """Let a run that was scored again end as it had ended."""
    head.status, head.error, head.finished_at = before.status, before.error, before.finished_at
