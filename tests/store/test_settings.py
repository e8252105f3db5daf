"""``evaltower.toml``: what it may hold, and how it is told what it may not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.store.preferences import Preferences
from engine.store.profile import Price, Profile
from engine.store.settings import (
    Admission,
    Experiment,
    Settings,
    SettingsError,
    read_settings,
)

PROFILE = '[profiles.local]\nbase_url = "http://127.0.0.1:8000/v1"\nmodel = "tiny"\n'


def read(root: Path, text: str) -> Settings:
    (root / "evaltower.toml").write_text(text)
    return read_settings(root)


def problems(root: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read(root, text)
    return refused.value.problems


def test_no_file_is_all_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings()


def test_the_screen_s_looks_and_keys(tmp_path: Path) -> None:
    found = read(tmp_path, '[ui]\ntheme = "colour-blind"\nmouse = false\n[keys]\n"runs.new" = ["n", "m"]\n')
    assert found.ui == Preferences(theme="colour-blind", mouse=False)
    assert found.keys == {"runs.new": ["n", "m"]}


def test_all_that_is_wrong_is_told_whatever_its_section(tmp_path: Path) -> None:
    text = """
[ui]
theme = "x"
mous = true
images = 3
[admission]
fair_wait = -1
grace = "long"
[slurm]
tmie = "1:00"
[keys]
"runs.new" = 7
[experiments.a]
vram_mb = "8 GB"
exclusive = true
[profiles.b]
base_url = 1
retries = "4"
"""
    told = problems(tmp_path, text)
    for part in (
        "[ui] there is no key 'mous': did you mean 'mouse'?",
        "[ui] theme must be one of tower-dark, tower-light, colour-blind, mono-dark, mono-light, not 'x'",
        "[ui] images ",
        "[admission] fair_wait must be a number >= 0.0",
        "[admission] grace must be a number",
        "[slurm] there is no key 'tmie': did you mean 'time'?",
        "[keys] runs.new: must be a key, or a list of keys",
        "[experiments.a] vram_mb must be a number",
        "[experiments.a] there is no key 'exclusive': did you mean 'exclusive_gpu'?",
        "[profiles.b] base_url must be text, not a whole number",
        "[profiles.b] retries must be a whole number",
    ):
        assert sum(problem.startswith(part) for problem in told) == 1, (part, told)


def test_a_profile_in_full(tmp_path: Path) -> None:
    text = """
[profiles."gpt-5-mini"]
base_url = "https://api.example.org/v1"
model = "gpt-5-mini"
api_key_env = "EXAMPLE_KEY"
active = true
determinism = "seeded"
max_tokens_field = "max_completion_tokens"
params = { temperature = 1.0, reasoning_effort = "low" }
price = { input = 0.25, cached_input = 0.025, output = 2 }
timeout_sec = 300
retries = 6
concurrency = 2
cache = "outputs/answers.jsonl"
"""
    assert read(tmp_path, text).profiles == {
        "gpt-5-mini": Profile(
            base_url="https://api.example.org/v1",
            model="gpt-5-mini",
            api_key_env="EXAMPLE_KEY",
            active=True,
            determinism="seeded",
            max_tokens_field="max_completion_tokens",
            params={"temperature": 1.0, "reasoning_effort": "low"},
            price=Price(input=0.25, cached_input=0.025, output=2.0),
            timeout_sec=300.0,
            retries=6,
            concurrency=2,
            cache="outputs/answers.jsonl",
        )
    }


def test_the_sections_of_others_are_known(tmp_path: Path) -> None:
    text = "[experiments.big]\nvram_mb = 9000\n[slurm]\n[keys]\n[ui]\n[admission]\nfair_wait = 60\n"
    found = read(tmp_path, text)
    assert found.experiments == {"big": Experiment(vram_mb=9000.0)}
    assert found.admission == Admission(fair_wait=60.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[profile.x]\n", "there is no section 'profile': did you mean 'profiles'?"),
        ("[zzz]\n", "there is no section 'zzz': there are profiles, experiments"),
        ("profiles = 3\n", "[profiles] is not a table"),
        ("[profiles]\nx = 1\n", "profiles.x is not a table: it begins with [profiles.x]"),
        (PROFILE + "base_ulr = 1\n", "[profiles.local] there is no key 'base_ulr': did you mean 'base_url'?"),
        (
            PROFILE + "price = {input = 1, output = 1, cached = 1}\n",
            "[profiles.local] price there is no key 'cached': did you mean 'cached_input'?",
        ),
        (PROFILE + "price = {input = -1, output = 1}\n", "price.input must be a number >= 0.0"),
        (PROFILE + "price = {input = 1, output = inf}\n", "price.output must be a number <= 1000000000.0"),
        (PROFILE + "price = {input = 1, output = nan}\n", "price.output must be a number >= 0.0"),
        (PROFILE + "retries = -1\n", "retries must be a whole number >= 0"),
        (PROFILE + "retries = 1e23\n", "retries must be a whole number"),
        (PROFILE + "retries = 101\n", "retries must be a whole number <= 100"),
        (PROFILE + 'retries = "4"\n', "[profiles.local] retries must be a whole number, not text"),
        (PROFILE + "concurrency = 0\n", "concurrency must be a whole number >= 1"),
        (PROFILE + "concurrency = 1e23\n", "concurrency must be a whole number"),
        (PROFILE + "timeout_sec = 0\n", "timeout_sec must be a number > 0.0"),
        (PROFILE + "timeout_sec = inf\n", "timeout_sec must be a number <= 86400.0"),
        (PROFILE + "timeout_sec = nan\n", "timeout_sec must be a number > 0.0"),
        (
            PROFILE + 'determinism = "sometimes"\n',
            "determinism must be one of exact, seeded, none, not 'sometimes'",
        ),
        ('[profiles.x]\nbase_url = "http://h"\n', "missing required field model"),
        (PROFILE + "params = { messages = [] }\n", "params.messages cannot be set for all requests"),
        (PROFILE + "params = { n = 2 }\n", "params.n cannot be set for all requests"),
        (PROFILE + "params = { a = { b = [nan] } }\n", "params.a.b[0] is nan, which no request can hold"),
        (PROFILE + "params = { day = 2026-01-02 }\n", "params.day is a date, which no request can hold"),
        ("[profiles.x\n", "cannot be read"),
        (PROFILE + "active = true\n" + PROFILE.replace("local", "b") + "active = true\n", "local, b"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert told in found[0]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h",
        "localhost:8000",
        "http://",
        "http://u:secret@h/v1",
        "http://h?key=secret",
        "http://h:x",
        "http://h:99999",
        "http://h:0",
        "http://ex☃.é/v1",
        "http://xn--/v1",
        "http://a..b/v1",
        "http://[::1/v1",
        "http://[zz]/v1",
        f"http://{'h' * 64}/v1",
        f"http://h/{'v' * 2000}",
    ],
)
def test_a_url_that_is_none_or_holds_a_secret(tmp_path: Path, url: str) -> None:
    found = problems(tmp_path, f'[profiles.x]\nbase_url = "{url}"\nmodel = "m"\n')
    assert "base_url must be http://HOST" in found[0]
    assert "secret" not in found[0]


@pytest.mark.parametrize(
    "place",
    [
        "evaltower.toml",
        "../../x.jsonl",
        "outputs/../../x.jsonl",
        "/proc/x/y.jsonl",
        ".",
        "a\\u0000b.jsonl",
        "away/x.jsonl",
        "outputs/eval_runs/20260101_000000/episodes.jsonl",
        "outputs/servers/x.jsonl",
    ],
)
def test_a_cache_that_would_be_written_over_something_else(tmp_path: Path, place: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "away").symlink_to("/")
    (found,) = problems(root, PROFILE + f'cache = "{place}"\n')
    assert "must be the path of a .jsonl file under the root" in found


@pytest.mark.parametrize("place", ["answers.jsonl", "outputs/answers.jsonl", "a/b/c.jsonl"])
def test_a_cache_may_lie_anywhere_else_in_the_root(tmp_path: Path, place: str) -> None:
    assert read(tmp_path, PROFILE + f'cache = "{place}"\n').profiles["local"].cache == place


@pytest.mark.parametrize("key", ["sk-abc-123", "abcdef0123456789", "two words"])
def test_a_key_in_place_of_its_variable_is_not_repeated(tmp_path: Path, key: str) -> None:
    found = problems(tmp_path, PROFILE + f'api_key_env = "{key}"\n')
    assert "must be the name of an environment variable" in found[0]
    assert key not in found[0]


def test_all_problems_at_once(tmp_path: Path) -> None:
    text = PROFILE + 'colour = 1\napi_key_env = "no"\n[profiles.b]\nbase_url = "x"\nmodel = ""\n'
    found = problems(tmp_path, text)
    assert [problem.split("]")[0] for problem in found] == [
        "[profiles.local",
        "[profiles.local",
        "[profiles.b",
    ]


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "evaltower.toml").write_bytes(b"[ui]\nx = '\xff'\n")
    with pytest.raises(SettingsError, match=r"evaltower\.toml: it cannot be read"):
        read_settings(tmp_path)


def test_the_readme_s_examples_can_be_used(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    examples = re.findall(r"^```toml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    settings = [one for one in examples if "[[gpus]]" not in one]  # that one is of --simulate
    found = read(tmp_path, "".join(settings))
    assert (set(found.profiles), set(found.experiments)) == ({"gpt-5-mini", "local"}, {"cma"})


def test_admission_has_its_own_keys(tmp_path: Path) -> None:
    text = "[admission]\nfair_wait = 60\nusable_vram_mb = 20000\n"
    assert read(tmp_path, text).admission == Admission(fair_wait=60.0, usable_vram_mb=20000.0)
    assert problems(tmp_path, "[admission]\nfair_wate = 60\ngrace = 1") == [
        "[admission] there is no key 'fair_wate': did you mean 'fair_wait'?"
    ]
    assert problems(tmp_path, "[admission]\ndisk_low = -1") == [
        "[admission] disk_low must be a number >= 0.0"
    ]


def test_what_each_job_of_a_cluster_has_of_its_own_cannot_be_set_for_all(tmp_path: Path) -> None:
    found = read(tmp_path, '[slurm]\nextra = ["--reservation=x", "--exclude=n1"]\n').slurm
    assert found.extra == ["--reservation=x", "--exclude=n1"]
    for option in ("--array=0-2", "--requeue", "--nodes=2", "--output=x"):
        assert problems(tmp_path, f'[slurm]\nextra = ["{option}"]') == [
            f"[slurm] extra {option!r} is set for each job by itself: leave it out"
        ]
    (problem,) = problems(tmp_path, '[slurm]\nextra = ["-p gpu"]')
    assert "is no option such as" in problem


def test_experiments_are_read_and_every_problem_of_them_is_named(tmp_path: Path) -> None:
    text = "[experiments.cma]\nvram_mb = 8000\ndefaults = { worker_count = 4 }\n[experiments.slam]\n"
    experiments = read(tmp_path, text).experiments
    assert (experiments["cma"].vram_mb, experiments["cma"].defaults) == (8000, {"worker_count": 4})
    assert (experiments["slam"].vram_mb, experiments["slam"].exclusive_gpu) == (None, False)
    wrong = problems(
        tmp_path, "[experiments]\na = 3\n[experiments.b]\nvram = 1\n[experiments.c]\nvram_mb = -1\n"
    )
    assert [problem.split(":")[0] for problem in wrong] == [
        "experiments.a is not a table",
        "[experiments.b] there is no key 'vram'",
        "[experiments.c] vram_mb must be a number >= 0.0",
    ]
