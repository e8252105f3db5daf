"""How a run stands in a list is what its results say, from the summary's head alone."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.control.reports import RunReport
from engine.statistics.aggregate import aggregate
from engine.statistics.budget import headline, headline_metric
from engine.statistics.folding import fold_rows
from engine.store.records import EpisodeRow, Summary, SummaryConfig, SummaryHead
from tests.statistics.making import patient

metrics = st.dictionaries(
    st.sampled_from(["success", "return", "steps"]), st.sampled_from([0.0, 1.0, 0.5, None]), max_size=3
)
rows = st.lists(
    st.builds(
        EpisodeRow,
        episode_index=st.just(0),
        status=st.sampled_from(["completed", "completed", "completed", "error", "cancelled"]),
        termination=st.just("stopped"),
        metrics=metrics,
        scoring=st.sampled_from(["none", "pending", "done"]),
        verdict=st.sampled_from([None, True, False]),
    ),
    min_size=1,
    max_size=25,
).map(lambda found: [msgspec.structs.replace(row, episode_index=index) for index, row in enumerate(found)])


def report_of(rows: list[EpisodeRow]) -> RunReport:
    summary = Summary(run_id="r", config=SummaryConfig(graph_name="g"), status="completed", created_at="")
    fold_rows(summary, rows)
    head = msgspec.convert(msgspec.to_builtins(summary), SummaryHead)
    return RunReport(run_id="r", path="", status="completed", label="", summary=head)


@patient
@given(rows)
def test_it_is_withheld_where_the_headline_is(rows: list[EpisodeRow]) -> None:
    standing = report_of(rows).standing
    if not any(row.status == "completed" and row.measures for row in rows):
        return
    measured = aggregate(rows).stats
    named = {name for row in rows for name in row.measures}
    name = headline_metric([*measured, *sorted(named - measured.keys())])
    found = headline(rows, name or "")
    if standing is None:
        assert not found.missing.measured + found.missing.lost
        return
    assert standing.metric == name
    assert (standing.stats.n, standing.lost) == (found.missing.measured, found.missing.lost)
    assert standing.withheld == (found.estimate is None)


def test_episodes_of_tasks_that_define_no_success_count_as_lost() -> None:
    found = [
        EpisodeRow(
            episode_index=index,
            status="completed",
            termination="stopped",
            metrics={"return": 1.0, **({"success": 1.0} if index < 2 else {})},
        )
        for index in range(4)
    ]
    standing = report_of(found).standing
    assert standing is not None
    assert (standing.metric, standing.lost, standing.withheld) == ("success", 2, True)
    assert standing.stats.mean == pytest.approx(1.0)
