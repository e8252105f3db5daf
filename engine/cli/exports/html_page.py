"""A run or an episode as one page of tables: no script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from engine.cli.exports.content import (
    EpisodeContent,
    RunContent,
    Table,
    episode_table,
    firing_table,
    score_table,
    sink_table,
)
from engine.cli.progress import interval
from engine.figures import count, labelled, number
from engine.store.scoring_tally import not_judged_in_words, use_in_words
from engine.text import visible

if TYPE_CHECKING:
    from engine.control.scoring_report import ScoringReport
    from engine.statistics.intervals import Estimate
    from engine.statistics.repeats import Repeats
    from engine.statistics.tables import TaskTable

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 2rem; color: #1c1c1c; background: #fff; }}
table {{ border-collapse: collapse; margin: 0 0 2rem; }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }}
td {{ max-width: 40rem; overflow-wrap: anywhere; }}
th {{ position: sticky; top: 0; background: #f3f3f3; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
</style>
</head>
<body>
<h1>{title}</h1>
"""
TAIL = "</body>\n</html>\n"


def run_page(content: RunContent) -> Iterator[bytes]:
    """The page, piece by piece: what was run, its numbers, its episodes."""
    report, results = content.run, content.results
    yield _head(f"Evaltower run {report.run_id}")
    yield from _section("Run", Table(["", ""], _facts(content)))
    if results.metrics and results.headline.withheld is None:
        means: list[list[str | float | None]] = [
            [labelled(name), number(found.mean), interval(found), found.n]
            for name, found in results.metrics.items()
        ]
        yield from _section("Metrics", Table(["metric", "mean", "95 % interval", "n"], means))
    if results.tasks is not None:
        yield from _section("By task", _task_table(results.tasks))
    if results.repeats is not None:
        yield from _section("Repeats", _repeat_table(results.repeats))
    if content.scoring is not None and content.scoring.sinks:
        yield from _section("Exports", sink_table(content.scoring))
    yield from _section("Episodes", episode_table(content.episodes))
    yield TAIL.encode()


def episode_page(content: EpisodeContent) -> Iterator[bytes]:
    """The page, piece by piece: the episode's row, its firings."""
    found = content.episode
    yield _head(f"Evaltower run {found.run_id}, episode {found.episode.episode_index}")
    row = episode_table([found.episode])
    facts: list[list[str | float | None]] = [
        ["graph", found.graph_name],
        *([name, cell] for name, cell in zip(row.header, row.rows[0], strict=True)),
    ]
    yield from _section("Episode", Table(["", ""], facts))
    if found.episode.scores:
        yield from _section("Scores", score_table(found.episode))
    yield from _section("Firings", firing_table(content.log))
    yield TAIL.encode()


def _facts(content: RunContent) -> list[list[str | float | None]]:
    report, found = content.run, content.results.headline
    summary, missing = report.summary, found.missing
    told = f"withheld: {found.withheld}"
    if found.estimate is not None:
        told = f"{number(found.estimate.mean)} {interval(found.estimate)}".strip()
    environment = report.environment
    bounds: list[list[str | float | None]] = []
    if missing.planned > missing.measured and missing.worst is not None and missing.best is not None:
        ends = f"{number(missing.worst)}, {number(missing.best)}"
        bounds = [["were those all the worst, the best", ends]]
    return [
        [found.metric, told],
        ["measured", f"{missing.measured} of {count(missing.planned, 'episode')}"],
        ["errored", missing.errored],
        ["unmeasured", missing.unmeasured],
        ["cancelled", missing.cancelled],
        ["not run", missing.not_run],
        *bounds,
        *_verdicts(content.scoring),
        ["status", report.status],
        ["graph", summary.config.graph_name],
        ["environment", summary.config.env_nodeset],
        ["split", summary.config.split],
        ["seed", summary.config.seed],
        ["label", report.label],
        ["started", summary.started_at],
        ["finished", summary.finished_at],
        ["determinism", environment.determinism if environment else None],
        ["result digest", summary.result_digest],
        ["run again by", environment.command if environment else None],
    ]


def _verdicts(report: ScoringReport | None) -> list[list[str | float | None]]:
    if report is None:
        return []
    told = report.verdicts
    facts: list[list[str | float | None]] = [["verdicts", told]]
    if report.pending:
        facts.append(["not scored yet", report.pending])
    if report.tally.not_judged:
        facts.append(["not judged", not_judged_in_words(report.tally)])
    if report.tally.judges_used.asked:
        facts.append(["judges took", use_in_words(report.tally.judges_used)])
    return facts


def _task_table(found: TaskTable) -> Table:
    rows: list[list[str | float | None]] = [[line.task, *_estimate(line.estimate)] for line in found.tasks]
    rows.append(["every episode alike", *_estimate(found.pooled)])
    rows.append(["every task alike", *_estimate(found.macro)])
    return Table([f"{labelled(found.metric)} by task", "mean", "95 % interval", "n"], rows)


def _repeat_table(found: Repeats) -> Table:
    rows: list[list[str | float | None]] = [
        [rate.k, *_estimate(rate.at_least_one)[:2], *_estimate(rate.all_of_them)[:2]] for rate in found.rates
    ]
    return Table(["k", f"pass@k ({found.metric})", "95 % interval", "pass^k", "95 % interval"], rows)


def _estimate(found: Estimate | None) -> list[str | float | None]:
    """Mean, interval and n."""
    return [number(found.mean), interval(found), found.n] if found is not None else [None, None, 0]


def _head(title: str) -> bytes:
    return HEAD.format(title=_text(title)).encode()


def _section(title: str, table: Table) -> Iterator[bytes]:
    yield f"<h2>{title}</h2>\n<table>\n".encode()
    if any(table.header):
        yield ("<tr>" + "".join(f"<th>{_text(name)}</th>" for name in table.header) + "</tr>\n").encode()
    for row in table.rows:
        yield ("<tr>" + "".join(map(_cell, row)) + "</tr>\n").encode()
    yield b"</table>\n"


def _cell(value: str | float | None) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, str):
        return f"<td>{_text(value)}</td>"
    return (
        f'<td class="number">{value:.6g}</td>'
        if isinstance(value, float)
        else f'<td class="number">{value}</td>'
    )


def _text(text: str) -> str:
    return escape(visible(text))
