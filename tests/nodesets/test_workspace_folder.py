"""The folder of an episode of env_workspace: how it begins, what is seen of its changes, how it ends."""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.nodesets.workspace_player import Desk, desk, write_cases


@pytest.fixture
async def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    async with desk() as opened:
        yield opened
    assert list((tmp_path / "tmp").iterdir()) == []


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@y")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository of three commits, and their names."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    commits = []
    for text in ("one", "two", "the fix"):
        (folder / "a.txt").write_text(text + "\n", "utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", text)
        commits.append(git(folder, "rev-parse", "HEAD"))
    return folder, commits


async def seen(player: Desk) -> dict[str, Any]:
    snapshot: dict[str, Any] = (await player.act("snapshot"))["snapshot"]
    return snapshot


async def test_a_folder_that_was_no_repository_has_a_baseline(player: Desk, tmp_path: Path) -> None:
    await player.play(tmp_path, {"files": {"src/a.py": "x = 1\n"}, "setup": "echo made > made.txt"})
    assert (await seen(player))["diff"] == ""
    await player.harness(
        "echo 'y = 2' >> src/a.py; rm made.txt; echo new > 'ünew file';"
        " mkdir __pycache__; touch __pycache__/a.pyc"
    )
    snapshot = await seen(player)
    assert snapshot["changed_files"] == ["made.txt", "src/a.py", "ünew file"]
    assert "+y = 2\n" in snapshot["diff"]
    assert "-made\n" in snapshot["diff"]
    assert "+++ b/ünew file" in snapshot["diff"]
    assert snapshot["head_sha"] == git(player.folder, "rev-parse", "HEAD")


async def test_commits_of_the_harness_are_changes_too(player: Desk, tmp_path: Path) -> None:
    await player.play(tmp_path, {"files": {"a.txt": "1\n"}})
    before = (await seen(player))["head_sha"]
    out = await player.harness("echo 2 > a.txt; git commit -qam mine && git log --format=%an,%s")
    assert out["response"] == "Evaltower,mine\nEvaltower,As the episode found it\n"
    after = await seen(player)
    assert after["changed_files"] == ["a.txt"]
    assert after["head_sha"] != before


@pytest.mark.parametrize(
    "deed",
    [
        "rm -rf .git",
        "git config core.fsmonitor 'touch /nowhere; false'; git config diff.external false",
        "echo '* diff=lies' > .git/info/attributes; git config diff.lies.textconv true",
        "rm -rf .git; echo gitdir: /nowhere > .git",
    ],
)
async def test_what_a_harness_does_to_the_repository_hides_nothing(
    player: Desk, tmp_path: Path, deed: str
) -> None:
    await player.play(tmp_path, {"files": {"a.txt": "1\n"}})
    await player.harness(f"echo 2 > a.txt; {deed}")
    snapshot = await seen(player)
    assert snapshot["changed_files"] == ["a.txt"]
    assert "-1\n+2\n" in snapshot["diff"]


async def test_a_repository_is_fetched_up_to_its_commit_and_no_further(
    player: Desk, tmp_path: Path, project: tuple[Path, list[str]]
) -> None:
    _, (_, second, fix) = project
    await player.play(tmp_path, {"repo": {"url": "project", "commit": second}, "files": {"b.txt": "b"}})
    assert (player.folder / "a.txt").read_text("utf-8") == "two\n"
    out = await player.harness(
        f"git log --all --format=%s; git cat-file -t {fix}; git status --short; cat .git/FETCH_HEAD"
    )
    assert out["response"] == "As the episode found it\ntwo\none\n"
    assert (await seen(player))["diff"] == ""


async def test_a_commit_that_is_not_there_is_refused_in_gits_words(
    player: Desk, tmp_path: Path, project: tuple[Path, list[str]]
) -> None:
    cases = write_cases(tmp_path, {"repo": {"url": str(project[0]), "commit": "0" * 40}})
    answer = await player.choose(cases)
    assert answer["error"].startswith("case case_0: git fetch exited 128: ")
    assert "no episode has begun" in (await player.act("snapshot"))["error"]


def tar_of(place: Path, *members: tuple[str, bytes | str]) -> Path:
    """Bytes make a file, text makes a link."""
    with tarfile.open(place, "w:gz") as packed:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                packed.addfile(member)
            else:
                member.size = len(content)
                packed.addfile(member, io.BytesIO(content))
    return place


async def test_archives_are_unpacked(player: Desk, tmp_path: Path) -> None:
    tar_of(tmp_path / "a.tar.gz", ("bin/run", b"#!/bin/sh\necho ran\n"), ("bin/link", "run"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        packed.writestr("src/a.txt", "zipped\n")
    await player.play(tmp_path, {"archive": "a.tar.gz"}, {"archive": "b.zip"})
    assert (await player.harness("bin/run; bin/link"))["response"] == "ran\nran\n"
    await player.play(tmp_path, {"archive": "a.tar.gz"}, {"archive": "b.zip"}, index=1)
    assert (await player.harness("cat src/a.txt; ls"))["response"] == "zipped\nsrc\n"


@pytest.mark.parametrize(
    "members",
    [
        [("../out", b"x")],
        [("/out", b"x")],
        [("link", "/etc"), ("link/out", b"x")],
        [("deep/link", "../../out")],
    ],
)
async def test_an_archive_reaches_nothing_outside_the_folder(
    player: Desk, tmp_path: Path, members: list[tuple[str, bytes | str]]
) -> None:
    tar_of(tmp_path / "bad.tar.gz", *members)
    answer = await player.choose(write_cases(tmp_path, {"archive": "bad.tar.gz"}))
    assert "leads out of the episode's folder" in answer["error"]
    assert not list(tmp_path.rglob("out"))


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ({"files": {"../a": ""}}, "path '../a' leads out of the episode's folder; give one below it"),
        ({"archive": "gone.zip"}, "archive: there is no file "),
        ({"setup": "echo made; echo why >&2; exit 4"}, "setup exited 4: why"),
    ],
)
async def test_a_case_that_cannot_be_laid_out_is_named_and_leaves_nothing(
    player: Desk, tmp_path: Path, case: dict[str, Any], error: str
) -> None:
    answer = await player.choose(write_cases(tmp_path, case))
    assert answer["ok"] is False
    assert answer["error"].startswith("case case_0: " + error)
    assert not list(tmp_path.glob("tmp/*/episode"))


async def test_a_folder_begins_the_same_whatever_came_before(player: Desk, tmp_path: Path) -> None:
    cases = [{"files": {"a.txt": "1\n"}, "setup": "ls -A $TMPDIR > seen"}, {"files": {"z": ""}}]

    async def beginning(index: int) -> tuple[str, str]:
        await player.play(tmp_path, *cases, index=index)
        listed = (
            "find . -path ./.git -prune -o -type f -print | sort | xargs sha1sum; pwd; git rev-parse HEAD"
        )
        return (await player.harness(listed))["response"], (await seen(player))["head_sha"]

    fresh = await beginning(0)
    await player.harness(
        "touch ../outside $TMPDIR/left; chmod 000 a.txt; mkdir shut; touch shut/x; chmod 500 shut"
    )
    await beginning(1)
    assert await beginning(0) == fresh


async def test_the_users_git_has_no_say(
    player: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".gitconfig").write_text("[user]\nname = Me\n[core]\nautocrlf = true\n[commit]\ngpgsign = true\n")
    (home / ".config" / "git" / "ignore").write_text("*.txt\n")
    await player.play(tmp_path, {"files": {"a.txt": "1\r\n"}})
    plain = (await seen(player))["head_sha"]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "theirs"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Me")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    await player.play(tmp_path, {"files": {"a.txt": "1\r\n"}})
    assert (await seen(player))["head_sha"] == plain
    await player.harness("echo > b.txt")
    assert (await seen(player))["changed_files"] == ["b.txt"]


async def test_the_right_outcome_is_nowhere_in_the_folder(player: Desk, tmp_path: Path) -> None:
    secret = {"test_patch": "sesame_tests", "fail_to_pass": ["sesame"]}
    case = {"files": {"a.txt": "1\n"}, "expected": secret, "params": {"gold_patch": "sesame_gold"}}
    await player.play(tmp_path, case)
    out = await player.harness("grep -ra sesame .. && echo found; env | grep sesame && echo found; true")
    assert out["response"] == ""
    assert (await seen(player))["expected"] == secret


async def test_the_folder_goes_when_the_episode_ends_and_the_next_is_not_harmed(
    player: Desk, tmp_path: Path
) -> None:
    await player.play(tmp_path, {})
    home = player.folder.parent
    node = player.node("episode")
    await node.forward({}, None)
    await node.shutdown()
    assert not home.exists()
    assert "no episode has begun" in (await player.act("exec", command="true"))["error"]

    await player.play(tmp_path, {})
    late = player.node("episode")
    await late.forward({}, None)
    await player.play(tmp_path, {})
    await late.shutdown()
    assert (await player.act("exec", command="true"))["ok"]


async def test_what_killed_processes_left_is_swept_and_what_lives_is_not(
    player: Desk, tmp_path: Path
) -> None:
    dead, alive = (tmp_path / "tmp" / f"evaltower-workspace-{name}" for name in ("dead", "alive"))
    for folder in (dead, alive):
        (folder / "episode" / "work").mkdir(parents=True)
        (folder / "lock").touch()
    held = os.open(alive / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    await player.play(tmp_path, {})
    assert (dead.exists(), alive.exists()) == (False, True)
    os.close(held)
    async with desk() as other:
        await other.play(tmp_path, {})
    assert not alive.exists()


async def test_a_diff_without_end_is_cut_and_says_so(player: Desk, tmp_path: Path) -> None:
    await player.play(tmp_path, {})
    await player.harness("yes | head -c 6000000 > big.txt")
    snapshot = await seen(player)
    assert len(snapshot["diff"]) == 4 << 20
    assert (snapshot["diff_truncated"], snapshot["changed_files"]) == (True, ["big.txt"])
