from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from engine.report import cards, episodes, run_page
from engine.report.markup import STYLE
from engine.statistics.aggregate import aggregate
from engine.store.environment_record import BatchedRecord, EnvironmentRecord
from engine.store.outcomes import EPISODE_OUTCOMES
from engine.store.records import EpisodeRow
from engine.store.scores import Measured
from tests.cli.conftest import Shell
from tests.fakes.finished_runs import fake_line, fake_row, make_run
from tests.report.filmed import filmed_run

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e\u2066\0\x85"
TEXTS = {"h1", "h2", "h3", "p", "span", "ul", "li", "i", "a", "b", "em", "bdi", "pre", "code", "data", "wbr"}
TABLES = {"table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd"}
PARTS = {"header", "section", "article", "div", "details", "summary", "figure", "figcaption", "img"}
ALLOWED = {"html", "head", "meta", "title", "style", "body", *TEXTS, *TABLES, *PARTS}


class Page(HTMLParser):
    """Every tag with its attributes, and the text outside tags and style, by the section it is in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, str] = {}
        self._section, self._style = "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._style = tag == "style"
        told = {name: value or "" for name, value in attrs}
        self.attributes += [(tag, name, value) for name, value in told.items()]
        if tag == "section":
            self._section = told["id"]

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.texts[self._section] = self.texts.get(self._section, "") + data

    @property
    def text(self) -> str:
        return "".join(self.texts.values())

    def values(self, name: str) -> list[str]:
        return [value for _, called, value in self.attributes if called == name]


def report(shell: Shell, *words: str) -> Page:
    said = shell("report", "last", *words, "-o", "-")
    assert said.code == 0, said.err
    return Page(said.out)


def test_a_run_without_frames_says_once_how_to_have_them(shell: Shell, root: Path) -> None:
    kept = "No frames: where its environment has a selector frames, --select frames=render keeps them."
    make_run(root, rows=[fake_row(0), fake_row(1)])
    assert report(shell).text.count(kept) == 1


def test_no_text_is_markup_and_nothing_is_loaded(shell: Shell, root: Path) -> None:
    scores = [Measured(grader_id=EVIL, metric=f"judge:{EVIL}", value=0.5, passed=False, detail=EVIL)]
    broken = {"error": f"{EVIL}\n{EVIL}", "error_class": "graph", "failure": {"stage": EVIL, EVIL: [EVIL]}}
    rows = [
        fake_row(
            0,
            instruction=EVIL,
            selectors={"task_id": EVIL},
            metrics={"success": 0.0, EVIL: 1.0},
            scores=scores,
            scoring="final",
        ),
        fake_row(1, status="error", **broken),
        fake_row(2, instruction="javascript:alert(1)", selectors={"task_id": "' onload='x"}),
    ]
    environment = EnvironmentRecord(run_id="x", versions={EVIL: EVIL}, command=EVIL, host={EVIL: EVIL})
    environment.batched = [BatchedRecord(nodeset=EVIL, tool=EVIL, regime=EVIL)]
    filmed_run(root, rows=rows, label=EVIL, environment=environment, error=EVIL)
    for words in (("report", "last", "-o", "-"), ("export", "last", "--episode", "0", "--format", "html")):
        said = shell(*words)
        assert said.code == 0, said.err
        page = Page(said.out)
        assert page.tags <= ALLOWED
        assert "<script>alert(1)</script>" in page.text
        assert "‹U+202E›" in page.text
        assert not {"\x1b", "\u202e", "\u2066", "\0", "\x85"} & set(said.out)
        assert not [name for _, name, _ in page.attributes if name.startswith("on")]
        assert all(value.startswith("#") for value in page.values("href"))
        assert all(value.startswith("data:image/webp;base64,") for value in page.values("src"))
        assert "default-src 'none'" in " ".join(page.values("content"))
        assert "url(" not in said.out.partition("</style>")[0]
        ids = page.values("id")
        assert len(ids) == len(set(ids))
        assert {href[1:] for href in page.values("href")} <= set(ids)


def test_indentation_stays_white_space_and_other_controls_are_glyphs(shell: Shell, root: Path) -> None:
    said = "the room has:\n\ta door\x07\n\t\tred"
    failed = fake_row(1, status="error", error=said, error_class="graph", metrics={})
    filmed_run(root, rows=[fake_row(0, instruction=said), failed])
    for words in (("report", "last"), ("export", "last", "--episode", "0", "--format", "html")):
        page = Page(shell(*words, "-o", "-").out)
        assert "the room has:\n\ta door\u2407\n\t\tred" in page.text
        assert "\u2409" not in page.text


def test_failures_come_first_with_their_frames_and_why(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(0, metrics={"success": 1.0}),
        fake_row(1, metrics={"success": 0.0}),
        fake_row(2, status="error", error="CUDA error\nat line 3", error_class="infra", metrics={}),
    ]
    filmed_run(root, rows=rows, steps={0: 3, 1: 30, 2: 2})
    said = shell("report", "last", "-o", "-").out
    assert re.findall(r"<article id=\"(\w+)\" class=\"card (\w+)\"", said) == [
        ("c2", "crash"),
        ("c1", "failure"),
        ("c0", "success"),
    ]
    strips = [re.findall("<figcaption>([^<]*)", card) for card in said.split("<article")[1:]]
    assert [len(strip) for strip in strips] == [3, run_page.STRIP_FRAMES, 4]
    assert strips[1][0] == "step 0"
    assert strips[1][-1] == "step 29 · forward · reward 29.000"
    assert "infra: CUDA error\nat line 3" in Page(said).texts["failures"]
    assert "CUDA error" in Page(said).texts["errors"]


def test_every_episode_has_a_cell_in_its_workers_lane(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(index, worker_id=index % 3, metrics={"success": float(index > 3)}) for index in range(10)
    ]
    make_run(root, rows=rows)
    said = shell("report", "last", "-o", "-").out
    lanes = said.partition('id="outcomes"')[2].partition("</section>")[0].split('class="lane"')[1:]
    assert len(lanes) == 3
    assert re.findall('title="(.*?)"', lanes[0]) == ["0: failure", "3: failure", "6: success", "9: success"]
    assert "6 success" in Page(said).texts["outcomes"]


def test_a_headline_that_is_withheld_hides_the_means(shell: Shell, root: Path) -> None:
    rows = [fake_row(0, metrics={"success": 1.0}), fake_row(1, status="error", error="x", metrics={})]
    make_run(root, rows=rows)
    page = report(shell)
    assert "success is withheld" in page.texts["headline"]
    assert "above the error budget" in page.texts["headline"]
    assert "metrics" not in page.texts
    assert not any("metric_stats" in value for value in page.values("data-of"))


def refused(index: int, error: str = "", **more: Any) -> EpisodeRow:
    """An episode that could not begin as it was asked for."""
    told = error or f"the environment refused episode {index}: Nope-v0 doesn't exist"
    fields = {"status": "error", "termination": "exception", "error_class": "config", "metrics": {}}
    return fake_row(index, **{**fields, "error": told, **more})


def test_a_run_in_which_nothing_was_measured_says_why(shell: Shell, root: Path) -> None:
    make_run(root, rows=[refused(index) for index in range(5)])
    told = report(shell).texts["headline"]
    assert told.startswith("No episode was measured: all 5 were misconfigured")
    assert "In 5 of 5 episodes: the environment refused episode …: Nope-v0 doesn't exist" in told
    assert "0 of 5 episodes measured, 5 errored" in told
    make_run(root, rows=[refused(0), refused(1, error_class="infra", error="CUDA error")], total_episodes=3)
    told = report(shell).texts["headline"]
    assert told.startswith("No episode was measured: 2 errored (1 infra), 1 not run")
    assert "In 1 of 3 episodes: the environment refused episode 0" in told
    make_run(root, rows=[refused(0)])
    assert (
        report(shell).texts["headline"].startswith("No episode was measured: the only one was misconfigured")
    )


def test_a_misconfigured_episode_is_no_crash(shell: Shell, root: Path) -> None:
    make_run(root, rows=[refused(0), refused(1, error_class="graph"), refused(2, status="cancelled")])
    said = shell("report", "last", "-o", "-").out
    assert re.findall(r'title="(\d: \w+)"', said) == ["0: misconfigured", "1: crash", "2: cancelled"]
    page = Page(said)
    assert "1 crash" in page.texts["outcomes"]
    assert "1 misconfigured" in page.texts["outcomes"]


def test_an_episode_that_measured_no_success_is_drawn_as_none(shell: Shell, root: Path) -> None:
    make_run(root, rows=[fake_row(0, metrics={"return": 0.0, "success": None}), fake_row(1)])
    said = shell("report", "last", "-o", "-").out
    assert re.findall(r'title="(\d: \w+)"', said) == ["0: completed", "1: success"]
    page = Page(said)
    assert "1 completed" in page.texts["outcomes"]
    assert "failures" not in page.texts
    assert "Episode 0" in page.texts["others"]


def test_every_outcome_has_a_colour_and_a_sign_of_its_own() -> None:
    style = STYLE.read_text()
    drawn = re.findall(r":is\(\.legend i, \.cells a\)\.(\w+)::before \{ content: \"(.)\"; \}", style)
    assert {name for name, _ in drawn} == set(EPISODE_OUTCOMES) - {"success"}
    assert len({sign for _, sign in drawn}) == len(drawn)
    for name in EPISODE_OUTCOMES:
        assert f":is(.legend i, .cells a).{name} {{ background: var(--{name}); }}" in style
        assert style.count(f"--{name}: #") == 2, "light and dark"


def test_errors_are_one_over_episode_numbers_and_a_cancellation_is_none(shell: Shell, root: Path) -> None:
    rows = [fake_row(0), *(refused(index) for index in (3, 4)), refused(5, "another")]
    rows.append(refused(6, "it was cancelled", status="cancelled", termination="cancelled"))
    make_run(root, rows=rows)
    said = shell("report", "last", "-o", "-").out
    table = said.partition('id="errors"')[2].partition("</section>")[0]
    told = re.findall(
        r'<tr><td class="number">(\d+)</td>.*href="#(\w+)">(\d).*?dir="auto">(.*?)</div>', table
    )
    assert told == [
        ("2", "c1", "3", "the environment refused episode …: Nope-v0 doesn&#x27;t exist"),
        ("1", "c3", "5", "another"),
    ]
    assert '<div class="note" dir="auto">it was cancelled</div>' in said


def test_a_task_that_is_its_selectors_has_a_name_that_reads(shell: Shell, root: Path) -> None:
    def one(index: int, env: str, **more: Any) -> EpisodeRow:
        return fake_row(index, selectors={"env_id": env, "frames": "render", **more})

    rows = [one(0, "CartPole-v1"), one(1, "CartPole-v1", size=8), one(2, "Ant-v5")]
    make_run(root, rows=rows, aggregate_by_task=aggregate(rows).by_task)
    page = report(shell)
    for section in ("tasks", "episodes", "failures"):
        assert "render" not in page.texts[section]
        assert "Ant-v5" in page.texts[section]
    assert "CartPole-v1, size=8" in page.texts["tasks"]
    told = shell("show", "last").out + shell("episodes", "last").out
    assert "CartPole-v1, size=8" in told
    assert "{" not in told


def test_scenes_stand_for_tasks_where_there_is_one_task(shell: Shell, root: Path) -> None:
    make_run(root, rows=[fake_row(at, scene_id=f"task-v{at % 2}") for at in range(4)])
    told = report(shell).texts["tasks"]
    assert told.startswith("By scene")
    assert "task-v1" in told
    assert "every scene alike" in told


def test_tasks_repeats_and_scores_have_their_tables(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(
            index,
            repeat=repeat,
            metrics={"success": float(index % 2)},
            selectors={"task_id": task},
            scoring="final",
            scores=[
                Measured(grader_id="j", metric="judge:j", value=0.25, passed=False, detail="it went astray")
            ],
            verdict=False,
        )
        for index, task in ((0, "open"), (1, "close"))
        for repeat in (1, 2)
    ]
    make_run(root, rows=rows)
    page = report(shell)
    assert "every task alike" in page.texts["tasks"]
    assert "pass@k (success)" in page.texts["repeats"]
    assert "0 passed, 4 failed" in page.texts["scoring"]
    assert "0.250, fail: it went astray" in page.texts["failures"]


def test_means_by_task_are_those_of_the_summary(shell: Shell, root: Path) -> None:
    rows = [
        fake_row(index, metrics={"success": float(index % 3 == 0)}, selectors={"task_id": f"a/{index % 2}~"})
        for index in range(7)
    ]
    by_task = aggregate(rows).by_task
    run = make_run(root, rows=rows, aggregate_by_task=by_task)
    page = report(shell)
    told = dict(zip(page.values("data-of"), page.values("value"), strict=True))
    for task, means in run.read_summary().aggregate_by_task.items():
        of = f"summary.json#/aggregate_by_task/{task.replace('~', '~0').replace('/', '~1')}/success"
        assert float(told[of]) == means["success"]
    assert len(by_task) == 2


def test_two_runs_are_compared_as_compare_does(shell: Shell, root: Path) -> None:
    other = make_run(
        root, rows=[fake_row(i, metrics={"success": float(i < 9)}) for i in range(12)], label="old"
    )
    this = make_run(root, rows=[fake_row(i, metrics={"success": float(i > 1)}) for i in range(12)])
    page = report(shell, "old")
    found = shell("compare", other.run_id, this.run_id, "--json").json["comparisons"][0]["metrics"][0]
    told = dict(zip(page.values("data-of"), page.values("value"), strict=True))
    of = "compare#/comparisons/0/metrics/0/found"
    assert float(told[f"{of}/difference/mean"]) == found["found"]["difference"]["mean"]
    assert float(told[f"{of}/left"]) == found["found"]["left"] == 0.75
    assert float(told[f"{of}/p_adjusted"]) == found["found"]["p_adjusted"]
    assert "success: 1 there, 0 here in 2: 0 1 " in page.texts["comparison"]
    assert "success: 0 there, 1 here in 3: 9 10 11 " in page.texts["comparison"]
    assert shell("report", "last", this.run_id, "-o", "-").code == 1


def test_a_run_without_any_episode_has_a_page(shell: Shell, root: Path) -> None:
    run = make_run(root, rows=[], status="aborted", error="the disk is full")
    (run.path / "stderr.log").write_text("Killed")
    page = report(shell)
    assert "No episode has finished yet." in page.texts["outcomes"]
    assert "the disk is full" in page.text


def test_a_run_without_summary_and_environment_has_a_page(shell: Shell, root: Path) -> None:
    run = make_run(root, rows=[fake_row(index, metrics={"success": 1.0}) for index in range(3)])
    run.summary.unlink()
    run.environment.unlink()
    page = report(shell)
    assert "3 of 3 episodes measured" in page.texts["headline"]
    assert run.run_id in page.texts["provenance"]


def test_of_very_many_episodes_what_failed_is_kept(
    shell: Shell, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episodes, "ROWS", 4)
    monkeypatch.setattr(cards, "FAULTS", 1)
    rows = [fake_row(index, metrics={"success": float(index not in (2, 8))}) for index in range(10)]
    make_run(root, rows=rows)
    page = report(shell)
    assert "6 further episodes not shown: evaltower export --format csv has all." in page.texts["episodes"]
    assert [name for name in page.values("id") if name.startswith("e") and name[1:].isdigit()] == [
        "e0",
        "e1",
        "e2",
        "e8",
    ]
    assert "The worst 1 of 2" in page.texts["failures"]


def test_frames_beyond_the_budget_are_left_out_and_counted(
    shell: Shell, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[EpisodeRow] = [fake_row(index, metrics={"success": 0.0}) for index in range(4)]
    filmed_run(root, rows=rows, steps=dict.fromkeys(range(4), 3))
    monkeypatch.setattr(run_page, "IMAGE_BYTES", 100)
    page = report(shell)
    assert len(page.values("src")) == 4
    assert "The frames of 3 further episodes would make this page too large." in page.text


def test_a_page_is_not_replaced_unless_asked_for(
    shell: Shell, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(root)
    monkeypatch.chdir(tmp_path)
    assert shell("report", "last").code == 0
    before = (tmp_path / f"{run.run_id}.html").read_bytes()
    said = shell("report", "last")
    assert said.code == 2
    assert "--force replaces it" in said.err
    assert shell("report", "last", "--force").code == 0
    assert (tmp_path / f"{run.run_id}.html").read_bytes() == before


def test_a_failed_episode_of_text_shows_its_last_command_and_what_came_of_it() -> None:
    log = [
        fake_line(0, "reset", outputs={"observation": "You are in a kitchen."}),
        fake_line(4, "step", inputs={"action": "open <door>"}, outputs={"observation": "It is locked."}),
        fake_line(5, "step", inputs={"action": "go north"}, outputs=None),
    ]
    failed = fake_row(0, status="error", error_class="infra", error="gone", metrics={"success": 1.0})
    told = str(cards.last_words(failed, log))
    assert "step 5" in told
    assert "go north" in told
    assert "It is locked." in told
    assert cards.last_words(fake_row(0, metrics={"success": 1.0}), log) is None
    assert cards.last_words(failed, [fake_line(0, "step", outputs={"observation": {"image": 1}})]) is None
    assert "not counted" in str(cards.measures(failed, "x"))
    assert "not counted" not in str(cards.measures(fake_row(0), "x"))
