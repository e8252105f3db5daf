"""The report of real runs, in Chromium without a network."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from engine.cli.app import run_command_line
from engine.main import open_control
from engine.store.outcomes import outcome_of
from engine.store.rundir import RunDir
from engine.store.runs import find_run
from screenshots.browser import BrowserError, Page, browser, find_browser
from screenshots.make import make_root
from tests.fakes.finished_runs import fake_row
from tests.report.filmed import filmed_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\u202e"
NUMBER = re.compile(r"\d")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    try:
        find_browser()
    except BrowserError as error:
        pytest.fail(str(error))
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDir, RunDir]:
    """Two real runs of which an episode crashes: one with its own budget, and one with 25 steps."""
    root = make_root(tmp_path_factory.mktemp("runs"))
    words = ["--root", str(root), "run", "gridhouse_follow", "-n", "16", "-w", "2"]
    found = []
    for more in ([], ["--step-budget", "25"]):
        run_command_line(open_control, [*words, *more])
        found.append(find_run(root, "last"))
    return found[0], found[1]


def written(runs: tuple[RunDir, RunDir], folder: Path) -> Path:
    """The report of the second run beside the first."""
    target = folder / "report.html"
    other, this = runs
    words = ["--root", str(this.root), "report", this.run_id, other.run_id, "-o", str(target)]
    assert run_command_line(open_control, words) == 0
    return target


def documents(runs: tuple[RunDir, RunDir], capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the page's numbers name as their source."""
    other, this = runs

    def told(*words: str) -> Any:
        capfd.readouterr()
        run_command_line(open_control, ["--root", str(this.root), *words, "--json"])
        return json.loads(capfd.readouterr().out)

    return {
        "summary.json": json.loads(this.summary.read_bytes()),
        "results": told("show", this.run_id)["results"],
        "compare": told("compare", other.run_id, this.run_id),
    }


def resolve(found: dict[str, Any], of: str) -> Any:
    """What a document and a JSON pointer name."""
    name, _, pointer = of.partition("#")
    value = found[name]
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def numbers_in(page: Page) -> dict[str, str]:
    """Source → value, of every number of the page. No source is told twice with different values."""
    told = page.evaluate(
        "[...document.querySelectorAll('data')].map(one => [one.dataset.of, one.value, one.textContent])"
    )
    values: dict[str, str] = {}
    for of, value, shown in told:
        assert values.setdefault(of, value) == value
        assert NUMBER.search(shown)
        if re.fullmatch(r"[+-]?\d+\.\d{3}", shown):
            assert abs(float(shown) - float(value)) <= 0.0005 + 1e-12, of
    return values


def test_every_number_is_that_of_its_source(
    page: Page, runs: tuple[RunDir, RunDir], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = documents(runs, capfd)
    page.open(written(runs, tmp_path))
    values = numbers_in(page)
    for of, value in values.items():
        assert float(value) == resolve(found, of), of
    summary = found["summary.json"]
    assert summary["error_count"] == 1
    wanted = {
        f"summary.json#/metric_stats/{name}/{part}"
        for name in summary["metric_stats"]
        for part in ("mean", "n", "ci95/0", "ci95/1")
    }
    wanted |= {
        f"summary.json#/episodes/{at}/{field}"
        for at, row in enumerate(summary["episodes"])
        for field in ("step_count", "elapsed_sec", "seed", *(f"metrics/{name}" for name in row["metrics"]))
    }
    assert len(wanted) > 100
    assert wanted <= values.keys()
    assert found["results"]["headline"]["missing"]["errored"] == summary["error_count"]
    outcomes = Counter(outcome_of(row) for row in runs[1].read_summary().episodes)
    legend = page.evaluate("[...document.querySelectorAll('.legend li')].map(one => one.textContent)")
    assert sorted(legend) == sorted(f"{times} {outcome}" for outcome, times in outcomes.items())
    beside = page.evaluate(
        """[...document.querySelectorAll(
            '#metrics td.number, #tasks td.number, #comparison td.number, #headline .big')].map(cell => {
            const copy = cell.cloneNode(true)
            copy.querySelectorAll('data').forEach(one => one.remove())
            return copy.textContent
        }).join(' ')"""
    )
    assert not NUMBER.search(beside), "a number without a source"


def test_it_asks_for_nothing_and_complains_of_nothing(
    page: Page, runs: tuple[RunDir, RunDir], tmp_path: Path
) -> None:
    target = written(runs, tmp_path)
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light")):
        page.open(target, width, 900, scheme)
        assert [url for url in page.requests if not url.startswith("data:image/webp")] == [
            target.resolve().as_uri()
        ]
        assert not page.complaints
        assert page.evaluate("document.scripts.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        drawn = page.evaluate("[...document.images].map(one => one.complete && one.naturalWidth > 0)")
        assert len(drawn) > 10
        assert all(drawn)


def test_what_leaves_the_page_would_be_seen(page: Page, tmp_path: Path) -> None:
    leaky = tmp_path / "leaky.html"
    leaky.write_text("<img src='https://example.org/x.png'><script>console.error('no')</script>")
    page.open(leaky)
    assert "https://example.org/x.png" in page.requests
    assert any("no" in complaint for complaint in page.complaints)


def test_failures_are_seen_with_frames_and_cause(
    page: Page, runs: tuple[RunDir, RunDir], tmp_path: Path
) -> None:
    page.open(written(runs, tmp_path))
    cards = page.evaluate(
        """[...document.querySelectorAll('#failures article')].map(card =>
            [card.querySelector('h3').textContent, card.querySelectorAll('img').length, card.innerText])"""
    )
    assert cards[0][0] == "Episode 5"
    assert "the renderer lost its window: GLFW error 65544" in cards[0][2]
    assert all(images == 6 for _, images, _ in cards)
    cells = page.evaluate("document.querySelectorAll('.cells a').length")
    assert cells == 16
    assert page.evaluate("[...document.links].every(one => document.querySelector(one.hash))")


def test_light_and_dark_differ_and_have_ink(page: Page, runs: tuple[RunDir, RunDir], tmp_path: Path) -> None:
    target, brightness = written(runs, tmp_path), {}
    for scheme in ("light", "dark"):
        page.open(target, 1280, 900, scheme)
        with Image.open(io.BytesIO(page.picture())) as image:
            grey = image.convert("L").histogram()
        share = [sum(grey[:64]) / sum(grey), sum(grey[192:]) / sum(grey)]
        assert min(share) > 0.002, "there is no ink"
        brightness[scheme] = share
    assert brightness["light"][1] > 0.6
    assert brightness["dark"][0] > 0.6


def test_untrusted_text_does_nothing(page: Page, tmp_path: Path) -> None:
    run = filmed_run(
        tmp_path,
        rows=[
            fake_row(0, instruction=EVIL, metrics={"success": 0.0, EVIL: 1.0}, selectors={"task_id": EVIL}),
            fake_row(1, status="error", error=EVIL),
        ],
        label=EVIL,
    )
    target = tmp_path / "evil.html"
    words = ["--root", str(tmp_path), "report", run.run_id, "-o", str(target)]
    assert run_command_line(open_control, words) == 0
    page.open(target)
    assert page.evaluate("window.hacked === undefined && document.scripts.length === 0")
    assert not [url for url in page.requests if not url.startswith(("data:image/webp", "file:"))]
    assert page.evaluate("document.querySelector('#c0 .instruction').textContent") == EVIL.replace(
        "\u202e", "‹U+202E›"
    )


CONTRAST = """(() => {
    const parse = told => (told.match(/[\\d.]+/g) || []).map(Number)
    const over = (top, under) => {
        const a = top.length > 3 ? top[3] : 1
        return [0, 1, 2].map(at => top[at] * a + under[at] * (1 - a))
    }
    const light = colour => {
        const [r, g, b] = colour.map(part => part / 255).map(
            part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const paper = one => {
        const under = one.parentElement ? paper(one.parentElement) : [255, 255, 255]
        return over(parse(getComputedStyle(one).backgroundColor), under)
    }
    const poor = {}
    for (const one of document.querySelectorAll('body *')) {
        const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())
        const before = getComputedStyle(one, '::before').content
        if (!own && (before === 'none' || !one.matches('.cells a, .legend i'))) continue
        const under = paper(one), ink = over(parse(getComputedStyle(one).color), under)
        const [high, low] = [light(ink), light(under)].sort((a, b) => b - a)
        const ratio = (high + 0.05) / (low + 0.05)
        if (ratio < 4.5) poor[`${one.tagName} ${one.className}`] = ratio
    }
    return poor
})()"""


@pytest.fixture
def every_outcome(tmp_path: Path) -> Path:
    """The report of a run with every outcome, several tasks, many metrics, and long texts."""
    names = ("success", "spl", "oracle_success", "navigation_error", "path_length", "ndtw")
    wrong = {"status": "error", "error_class": "infra"}
    ended: list[dict[str, Any]] = [
        {"metrics": {**dict.fromkeys(names, 0.25), "success": 1.0}},
        {"metrics": dict.fromkeys(names, 0.125)},
        {"metrics": {"success": None}},
        {**wrong, "termination": "exception", "error_class": "config", "error": "refused: " + "no " * 90},
        {**wrong, "termination": "env_crash", "error": "e" * 400},
        {**wrong, "termination": "timeout", "error": "too slow"},
        {"status": "cancelled", "termination": "cancelled", "error": "it was cancelled"},
        {"scoring": "pending"},
    ]  # fmt: skip
    rows = [
        fake_row(at, seed=2**31 - 1 - at, elapsed_sec=12.5, instruction="walk to the red chair " * 3, **how)
        for at, how in enumerate(ended)
    ]
    run = filmed_run(tmp_path, rows=rows, steps={0: 3, 1: 3})
    target = tmp_path / "report.html"
    words = ["--root", str(tmp_path), "report", run.run_id, "-o", str(target)]
    assert run_command_line(open_control, words) == 0
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_that_wcag_aa_asks_for(
    page: Page, every_outcome: Path, scheme: str
) -> None:
    page.open(every_outcome, 1280, 900, scheme)
    assert (
        len(page.evaluate("[...new Set([...document.querySelectorAll('.cells a')].map(a => a.className))]"))
        == 8
    )
    assert page.evaluate(CONTRAST) == {}


def test_at_1280_no_column_is_cut_and_at_800_only_tables_scroll(page: Page, every_outcome: Path) -> None:
    wider = (
        "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
    )
    page.open(every_outcome, 1280)
    assert page.evaluate(wider) == 0
    page.open(every_outcome, 800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 800


def test_on_paper_it_is_light_and_nothing_is_cut(page: Page, every_outcome: Path) -> None:
    page.open(every_outcome, 718, 1000, "dark", media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 36, 44)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate(CONTRAST) == {}
