from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from engine.scoring.asked import asks_verdict
from engine.scoring.reading import read_scoring, scoring_problems
from engine.scoring.spec import DEFAULT_LADDER, Criterion, ScoringError, ScoringSpec
from engine.store.profile import Profile

URL = "http://127.0.0.1:5000"


def told(data: Any) -> list[str]:
    """``path: message (remedy)`` of each problem."""
    with pytest.raises(ScoringError) as raised:
        read_scoring(data)
    return str(raised.value).splitlines()


def test_nothing_asked_is_nothing_done_and_the_usual_ladder() -> None:
    spec = read_scoring({})
    assert spec == ScoringSpec()
    assert (spec.trace.kind, spec.concurrency.judges, spec.concurrency.exports) == ("none", 4, 2)
    assert [tuple(rung) for rung in spec.verdict] == list(DEFAULT_LADDER)


def test_everything_that_may_be_asked() -> None:
    spec = read_scoring(
        {
            "graders": [{"id": "tests-pass", "config": {"cmd": "make test"}}, {"id": "steps"}],
            "judges": [
                {
                    "id": "strict",
                    "profile": "big",
                    "prompt": "Is it right?",
                    "criteria": ["tone", {"name": "facts", "description": "Are they right?"}],
                    "pass_threshold": 0.7,
                }
            ],
            "verdict": ["tests_pass", ["judge"]],
            "trace": {"kind": "otel", "endpoint": URL, "correlate": "tag", "service": "agent"},
            "sinks": [
                {"name": "lab", "kind": "mlflow", "endpoint": URL, "experiment": "1", "auth_secret": "LAB"}
            ],
            "concurrency": {"judges": 2},
            "error_budget": 0.2,
        }
    )
    assert spec.judges[0].criteria == [
        Criterion(name="tone"),
        Criterion(name="facts", description="Are they right?"),
    ]
    assert (spec.graders[1].called, spec.concurrency.judges, spec.concurrency.exports) == ("steps", 2, 2)


def test_every_problem_is_told_at_once_with_what_is_near() -> None:
    assert told(
        {
            "grader": [],
            "graders": [{"id": "test-pass"}, {"id": "steps", "configs": {}}],
            "judges": [{"id": "a b"}],
            "trace": {"kind": "otell", "endpoint": URL},
            "concurrency": {"judges": 0},
            "error_budget": 2,
        }
    ) == [
        "scoring.grader: there is no such field (did you mean 'graders'?)",
        "scoring.graders[0].id: there is no kind of grader 'test-pass' (did you mean 'tests-pass'?)",
        "scoring.graders[1].configs: there is no such field (did you mean 'config'?)",
        "scoring.judges[0].id: 'a b' is no name for a judge (use letters, digits, _ . and -, at most 64)",
        "scoring.trace.kind: cannot be 'otell' (did you mean 'otel'?)",
        "scoring.concurrency.judges: must be a whole number >= 1",
        "scoring.error_budget: must be a number <= 1.0",
    ]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            {"id": "command", "config": {"cmdd": "x"}},
            ".config.cmdd: there is no such field (did you mean 'cmd'?)",
        ),
        ({"id": "command", "config": {"timeout_sec": 0}}, ".config.timeout_sec: must be a number > 0.0"),
        (
            {"id": "command", "config": {"pass_pattern": "("}},
            ".config: pass_pattern is no regular expression: ",
        ),
        ({"id": "command", "config": {"metric": "judge:x"}}, ".config: metric: 'judge:x' is a judge's"),
        ({"id": "command", "config": {"metric": "pass"}}, ".config: metric: 'pass' is the verdict's"),
        ({"id": "command", "config": {"id": "../x"}}, ".config: id: a grader is called by letters"),
        ({"id": "script-score", "config": {"pattern": "x"}}, ".config: pattern must have a group"),
        ({"id": "text-metric"}, ".config.metric: is missing"),
        ({"id": "text-metric", "config": {"metric": "", "pattern": "(x)"}}, ".config: metric: say what"),
        ({"id": "tests-pass", "config": {"metric": "judge:x"}}, ".config: metric: 'judge:x' is a judge's"),
        (
            {"id": "script", "config": {"code": "x", "metric": "a", "metrics": ["b"]}},
            ".config: give either metric",
        ),
        (
            {"id": "answer-match", "config": {"mode": "contain"}},
            ".config.mode: cannot be 'contain' (did you mean",
        ),
        ({"id": "script"}, ".config: give either code"),
        ({"id": "script", "config": {"code": "x", "entrypoint": "y"}}, ".config: give either code"),
        ({"id": "script", "config": {"code": "x", "cmd": "y"}}, ".config: cmd: a script has no command line"),
        ({"id": "script", "config": {"code": "x", "metrics": []}}, ".config: metrics: name what it scores"),
        ({"id": "store-state"}, ".id: there is no kind of grader 'store-state' ("),
        ({}, ".id: is missing"),
        (3, ": must be a table"),
    ],
)
def test_a_grader_that_cannot_be_made_is_refused_at_the_start(config: Any, problem: str) -> None:
    (line,) = told({"graders": [config]})[:1]
    assert line.startswith(f"scoring.graders[0]{problem}")


def test_no_two_may_be_called_the_same() -> None:
    twice = [{"id": "command", "config": {"cmd": "a"}}, {"id": "command", "config": {"cmd": "b"}}]
    sink = {"name": "x", "kind": "otlp", "endpoint": URL}
    judge = {"id": "j", "criteria": ["a", "a"]}
    assert told({"graders": twice, "judges": [judge, {"id": "k"}, {"id": "k"}], "sinks": [sink, sink]}) == [
        "scoring.graders[1]: a second one is called 'command' (give one another config.id)",
        "scoring.judges[0].criteria[1]: a second one is called 'a' (give one another name)",
        "scoring.judges[2]: a second one is called 'k' (give one another id)",
        "scoring.sinks[1]: a second one is called 'x' (give one another name)",
        "scoring.graders[1]: also scores 'command', as scoring.graders[0] does (give one another"
        " config.metric: which of the two is the number of the run?)",
    ]
    twice[1]["config"] = {"id": "second"}
    (line,) = told({"graders": twice})
    assert line.startswith("scoring.graders[1]: also scores 'command', as scoring.graders[0] does")
    twice[1]["config"] = {"id": "second", "metric": "lint"}
    assert [spec.called for spec in read_scoring({"graders": twice}).graders] == ["command", "second"]


@pytest.mark.parametrize(
    ("trace", "field"),
    [
        ({"kind": "otel"}, "endpoint"),
        ({"kind": "otel", "endpoint": "ftp://x"}, "endpoint"),
        ({"kind": "otel", "endpoint": URL, "correlate": "tag"}, "service"),
        ({"kind": "mlflow", "endpoint": URL, "correlate": "tag"}, "experiment"),
        ({"kind": "phoenix", "endpoint": URL}, "project"),
        ({"kind": "langsmith", "endpoint": URL, "correlate": "tag"}, "project"),
        ({"kind": "file"}, "endpoint"),
        ({"kind": "file", "endpoint": "/var/log/trace.jsonl"}, "endpoint"),
        ({"kind": "file", "endpoint": "logs/../../trace.jsonl"}, "endpoint"),
        ({"kind": "file", "endpoint": "~/trace.jsonl"}, "endpoint"),
        ({"kind": "file", "endpoint": "trace\0.jsonl"}, "endpoint"),
        ({"kind": "file", "endpoint": "trace.jsonl", "collect": "control-plane"}, "collect"),
    ],
)
def test_a_trace_that_cannot_be_found_is_refused_at_the_start(trace: dict[str, str], field: str) -> None:
    (problem,) = told({"trace": trace})
    assert problem.startswith(f"scoring.trace.{field}: ")


def test_a_sink_says_where_it_puts_traces() -> None:
    sinks = [{"name": kind, "kind": kind, "endpoint": URL} for kind in ("mlflow", "phoenix", "otlp", "otel")]
    assert told({"sinks": sinks}) == [
        "scoring.sinks[0].experiment: is missing: mlflow puts traces into one",
        "scoring.sinks[1].project: is missing: phoenix puts traces into one",
        "scoring.sinks[3].kind: cannot be 'otel' (did you mean 'otlp'?)",
    ]


def test_a_secret_is_named_and_what_is_none_is_never_repeated() -> None:
    value = "Bearer sk-12345"
    (problem,) = told({"trace": {"kind": "otel", "endpoint": URL, "auth_secret": value}})
    assert problem.startswith("scoring.trace.auth_secret: is no name of a secret")
    assert value not in problem


@pytest.mark.parametrize(
    ("url", "holds"),
    [
        ("https://user:pw-12345@host", "has a login"),
        ("https://pw-12345@host/path", "has a login"),
        ("https://host/?api_key=pw-12345", "has a query"),
        ("https://host/x#pw-12345", "has a query or a fragment"),
        ("https://user:pw-12345/@host", "must be http"),
    ],
)
def test_a_key_in_an_endpoint_is_refused_and_never_repeated(url: str, holds: str) -> None:
    sink = {"name": "s", "kind": "otlp", "endpoint": url}
    for problem, field in zip(
        told({"trace": {"kind": "otel", "endpoint": url}, "sinks": [sink]}),
        ("trace", "sinks[0]"),
        strict=True,
    ):
        assert problem.startswith(f"scoring.{field}.endpoint: {holds}")
        assert holds == "must be http" or "a secret that auth_secret names" in problem
        assert "pw-12345" not in problem


def test_a_url_in_the_wrong_field_is_told_without_its_key() -> None:
    url = "https://user:pw-12345@host/?key=pw-12345"
    problems = told(
        {
            "trace": {"kind": url},
            "sinks": [{"name": url, "kind": "otlp", "endpoint": URL}, {"name": "x", "kind": url, url: 1}],
        }
    )
    assert [problem.partition(": ")[0] for problem in problems] == [
        "scoring.trace.kind",
        "scoring.sinks[0].name",
        "scoring.sinks[1].https://host/",
        "scoring.sinks[1].kind",
    ]
    assert "pw-12345" not in "".join(problems)


def test_a_ladder_that_cannot_decide_is_refused() -> None:
    graders = [{"id": "command", "config": {"metric": "own"}}]
    ladder = ["judge:a:tone", [], ["pass"], ["*", "judge", "judge:a", "own"], "€"]
    assert told({"graders": graders, "judges": [{"id": "a"}], "verdict": ladder, "x": 1}) == [
        "scoring.x: there is no such field (there are: 'graders', 'judges', 'verdict', 'trace', 'sinks',"
        " 'concurrency', 'error_budget', 'deadline_sec')",
        "scoring.verdict[0]: 'judge:a:tone' is a judge's criterion, and none decides (name the judge)",
        "scoring.verdict[1]: is empty (name the metrics that decide there, or leave the rung out)",
        "scoring.verdict[2]: 'pass' is the verdict's",
        "scoring.verdict[4]: a metric's name is 1 to 100 letters, digits, spaces and _ . : / -, the first no"
        " mark but _",
    ]
    assert told({"verdict": [3]})


@pytest.mark.parametrize(
    ("asked", "ladder", "wrong"),
    [
        ({}, [["judge"]], True),
        ({"graders": [{"id": "command"}]}, [["judge"]], True),
        ({"graders": [{"id": "steps"}]}, ["tests_pass", ["judge"], "*"], True),
        ({"graders": [{"id": "steps"}]}, ["tool_calls"], True),
        ({"judges": [{"id": "a"}]}, ["tests_pass"], True),
        ({"judges": [{"id": "a"}]}, [["judge"]], False),
        ({"judges": [{"id": "a"}]}, ["tests_pass", "judge:a"], False),
        ({"graders": [{"id": "command"}]}, ["*"], False),
        ({"graders": [{"id": "command"}]}, [["command"], ["judge"]], False),
        ({"graders": [{"id": "steps"}]}, [], False),
    ],
)
def test_a_ladder_on_which_nothing_that_is_asked_stands_is_refused(
    asked: dict[str, Any], ladder: list[Any], wrong: bool
) -> None:
    remedy = "(add one that does, or leave the ladder out)"
    problem = (
        "scoring.verdict: can decide nothing: no grader and no judge that is asked passes or fails on any of"
        f" its rungs {remedy}"
    )
    if wrong:
        assert told({**asked, "verdict": ladder}) == [problem]
    else:
        assert read_scoring({**asked, "verdict": ladder}).verdict == ladder


def test_a_ladder_of_kinds_is_told_what_there_is() -> None:
    for kind in ("grader", "judges"):
        (line,) = told({"graders": [{"id": "command"}], "verdict": [[kind]]})
        assert f"no grader and no judge scores {kind!r}" in line


def test_a_ladder_names_what_is_scored() -> None:
    asked = {
        "graders": [{"id": "tests-pass", "config": {"metric": "unit_tests"}}, {"id": "steps"}],
        "judges": [{"id": "strict"}],
    }
    assert told({**asked, "verdict": ["unit_test", ["judge:strickt", "tests_pass", "*"]]}) == [
        "scoring.verdict[0]: no grader and no judge scores 'unit_test' (did you mean 'unit_tests'?)",
        "scoring.verdict[1]: no grader and no judge scores 'judge:strickt' (did you mean 'judge:strict'?)",
    ]
    assert read_scoring({**asked, "verdict": ["state", "unit_tests", "judge:strict", "judge"]})
    (line,) = told({"graders": [{"id": "stepps"}], "verdict": ["own"]})
    assert "graders[0]" in line, "what a grader that nobody knows would score is not known"


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({}, False),
        ({"graders": [{"id": "steps"}, {"id": "cost"}]}, False),
        ({"graders": [{"id": "steps"}, {"id": "answer-match"}]}, True),
        ({"judges": [{"id": "j"}]}, True),
        ({"judges": [{"id": "j"}], "verdict": []}, False),
        ({"graders": [{"id": "command", "config": {"metric": "own"}}]}, True),
    ],
)
def test_whether_episodes_are_to_pass_or_fail(asked: dict[str, Any], wanted: bool) -> None:
    assert asks_verdict(read_scoring(asked)) is wanted


def test_where_a_judge_is_asked_from_cannot_be_chosen() -> None:
    (line,) = told({"judges": [{"id": "j", "runs_on": "gpu-box"}]})
    assert line.startswith("scoring.judges[0].runs_on: cannot be chosen: a judge is asked by the run itself")
    assert read_scoring({"judges": [{"id": "j", "runs_on": ""}]})


def test_what_is_no_table_is_told() -> None:
    assert told([]) == ["scoring: must be a table"]
    assert told({"judges": {"id": "a"}}) == ["scoring.judges: must be a list, not a table"]


def test_judges_ask_profiles_that_are_there() -> None:
    profiles = {"big": Profile(base_url=URL, model="m"), "small": Profile(base_url=URL, model="m")}
    data = {"judges": [{"id": "a", "profile": "big"}, {"id": "b", "profile": "bigg"}, {"id": "c"}], "x": 1}
    problems = scoring_problems(data, profiles)
    assert [problem.where for problem in problems] == [
        "scoring.x",
        "scoring.judges[1].profile",
        "scoring.judges[2].profile",
    ]
    assert "did you mean 'big'?" in problems[1].remedy
    assert scoring_problems({"judges": [{"id": "a", "profile": "big"}]}, profiles) == []


def test_reading_a_request_loads_no_http_client() -> None:
    code = "import sys, engine.scoring.reading, engine.scoring.safe; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
