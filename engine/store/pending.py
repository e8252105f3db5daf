"""The summary of a run that has not begun."""

from __future__ import annotations

from engine.store.records import Spec, Summary, SummaryConfig


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
