"""``evaltower log``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import App
from engine.cli.output import put, put_json_list

if TYPE_CHECKING:
    from engine.store.records import EpisodeRow

LONGEST_VALUE = 60


@click.command("log")
@click.argument("run")
@click.argument("episode")
@click.option("--node", metavar="N", help="Only firings of this node (id, label or type).")
@click.option("--errors", is_flag=True, help="Only firings that went wrong.")
@click.option("--follow", is_flag=True, help="Wait for more until the episode has ended.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON document on stdout: the log's lines, as they come; then, where it is scored, or ended by"
    ' an error that none of them has, {"episode": its row}.',
)
@click.pass_obj
def command(
    app: App, /, *, run: str, episode: str, node: str | None, errors: bool, follow: bool, as_json: bool
) -> None:
    """Show EPISODE (an index, or its folder's name) of RUN, one row a node firing; then the error that ended
    it, where none of them has one; where it is scored, its verdict, its scores with the reasons of graders
    and judges, and where it was exported."""
    if node is not None and not follow:
        _find_node(app.control.log(run, episode), node)
    lines = (
        line
        for line in app.control.log(run, episode, follow=follow)
        if (node is None or node in _names(line)) and (line.get("error") or not errors)
    )
    entries = lines if node is not None else _with_end(lines, app, run, episode, scores=not errors)
    if as_json:
        put_json_list(entries)
        return
    for entry in entries:
        if "episode" in entry:
            _put_end(entry["episode"])
        else:
            put(_row(entry), "red" if entry.get("error") else None)


def _with_end(
    lines: Iterable[Mapping[str, Any]], app: App, run: str, episode: str, *, scores: bool
) -> Iterator[Mapping[str, Any]]:
    """The lines; then ``{"episode": its row}``, where it has ended and that tells more. Not looked for before
    the log is at its end."""
    from engine.control.reports import NotFoundError

    told = False
    for line in lines:
        told = told or bool(line.get("error"))
        yield line
    with suppress(NotFoundError):
        row = app.control.episode(run, episode).episode
        if (row.error and not told) or (scores and row.scoring != "none"):
            yield {"episode": row}


def _put_end(row: EpisodeRow) -> None:
    from engine.cli.scores import put_episode, shortened

    if row.error:
        put(shortened(f"{row.error_class or row.status}: {row.error}"), "red")
    put_episode(row)


def _names(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["node_id"], line.get("node_label"), line.get("node_type")


def _find_node(lines: Iterable[Mapping[str, Any]], node: str) -> None:
    """UsageError where no firing is of this node; it names those that are."""
    fired: dict[str, None] = {}
    for line in lines:
        if node in _names(line):
            return
        fired[line["node_id"]] = None
    raise click.UsageError(f"no firing is of a node {node!r}; there are: {', '.join(fired) or 'none'}")


def _row(line: Mapping[str, Any]) -> str:
    from engine.cli.scores import shortened

    parts = [f"{line['step']:>5}  {line['node_id']:<24} {line.get('duration_ms') or 0.0:>9.1f} ms "]
    parts += [f" {port}={_brief(value)}" for port, value in (line.get("outputs") or {}).items()]
    parts += [f" ({entry['key']}: {_brief(entry['value'])})" for entry in line.get("inner_log") or ()]
    if line.get("error"):
        parts.append(f" ERROR {shortened(str(line['error']))}")
    return "".join(parts)


def _brief(value: Any) -> str:
    """A value in a few words: arrays by their shape, texts and structures cut."""
    if isinstance(value, dict) and "$asset" in value:
        return f"<{value['$asset']}>"
    if isinstance(value, dict) and "$array" in value:
        return f"<{value['$array'].get('dtype')} {value['$array'].get('shape')}>"
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_brief(item)}" for key, item in value.items()) + "}"
    else:
        text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
