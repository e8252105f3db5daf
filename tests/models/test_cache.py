"""The request cache: what it tells apart, and what no crash or neighbour can spoil."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.models.answer import Answer, Usage
from engine.models.cache import RequestCache
from engine.models.errors import ChatUnavailable
from tests.fakes.chat_server import ChatServer, hangs, says
from tests.models.asking import ask, question
from tests.models.conftest import MakeClient


async def test_the_same_question_is_asked_once(server: ChatServer, make_client: MakeClient) -> None:
    first = await ask(make_client(), draw=1)
    again = await ask(make_client(), draw=1)
    assert (first.from_cache, again.from_cache) == (False, True)
    assert again.answer == first.answer
    assert len(server.asked) == 1


async def test_questions_that_are_meant_to_differ_do(server: ChatServer, make_client: MakeClient) -> None:
    client = make_client()
    different = [
        question(draw=1),
        question(draw=2),
        question("who?", draw=1),
        question(draw=1, n=2),
        question(draw=1, temperature=0.0),
        question(draw=1, temperature=1.0),
    ]
    for call in different:
        await client.ask("", "", call)
    await client.ask("", "other", different[0])
    await make_client(params={"top_k": 1}).ask("", "", different[0])
    assert len(server.asked) == len(different) + 2


async def test_equal_questions_at_once_get_one_answer(server: ChatServer, make_client: MakeClient) -> None:
    server.acts.extend([says("first"), says("second")])
    client = make_client()
    replies = await asyncio.gather(ask(client, draw=1), ask(client, draw=1))
    assert replies[0].answer == replies[1].answer


async def test_a_profile_keeps_its_answers_in_a_file_of_the_root(
    server: ChatServer, make_client: MakeClient, tmp_path: Path
) -> None:
    await ask(make_client(cache="kept/answers.jsonl"), draw=1)
    assert (tmp_path / "kept" / "answers.jsonl").is_file()
    assert not (tmp_path / "model_cache.jsonl").exists()


async def test_a_cache_that_cannot_be_written_is_the_box_s_fault(
    make_client: MakeClient, tmp_path: Path
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(ChatUnavailable, match=r"profile 'local' .* request cache fails: .*folder\.jsonl"):
        await ask(make_client(cache="folder.jsonl"))


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    answer = Answer(["a\u2028b\n", ""], ["stop", None], "m", Usage(1, 2, 3))
    RequestCache(tmp_path / "c").keep("k", answer)
    assert RequestCache(tmp_path / "c").find("k") == answer
    assert RequestCache(tmp_path / "c").find("other") is None


def test_the_first_answer_counts_for_all(tmp_path: Path) -> None:
    ours, theirs = RequestCache(tmp_path / "c"), RequestCache(tmp_path / "c")
    assert ours.find("k") is None
    assert theirs.keep("k", Answer(["theirs"])) == Answer(["theirs"])
    assert ours.keep("k", Answer(["ours"])) == Answer(["theirs"])
    assert ours.find("k") == theirs.find("k") == Answer(["theirs"])


def test_a_file_torn_anywhere_costs_only_what_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "c"
    writer = RequestCache(path)
    for key in ("one", "two"):
        writer.keep(key, Answer([key]))
    whole = path.read_bytes()
    end_of_one = whole.index(b"\n") + 1
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        cache = RequestCache(path)
        kept = {key for key in ("one", "two") if cache.find(key) == Answer([key])}
        assert kept == ({"one"} if length >= end_of_one else set())
        cache.keep("three", Answer(["three"]))
        reread = RequestCache(path)
        assert reread.find("three") == Answer(["three"])
        assert {key for key in ("one", "two") if reread.find(key) == Answer([key])} >= kept


def test_lines_that_are_no_answers_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(b'\n[]\n{"key": 3}\n\xff\xfe\n{"key": "k", "answer": {"texts": ["t"]}}\n')
    assert RequestCache(path).find("k") == Answer(["t"])


@pytest.mark.parametrize(
    "answer",
    [
        "3",
        "null",
        "{}",
        '{"texts": []}',
        '{"texts": [3]}',
        '{"texts": ["t"], "usage": {"prompt_tokens": "x"}}',
    ],
)
def test_a_damaged_answer_to_a_known_question_is_asked_for_again(tmp_path: Path, answer: str) -> None:
    path = tmp_path / "c"
    path.write_text(f'{{"key": "k", "answer": {answer}}}\n{{"key": "other", "answer": {{"texts": ["o"]}}}}\n')
    cache = RequestCache(path)
    assert cache.find("k") is None
    assert cache.keep("k", Answer(["new"])) == cache.find("k") == Answer(["new"])
    assert RequestCache(path).find("k") == Answer(["new"])
    assert RequestCache(path).find("other") == Answer(["o"])


def test_an_answer_that_is_damaged_while_the_file_is_open_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "c"
    cache = RequestCache(path)
    cache.keep("k", Answer(["old"]))
    assert cache.find("k") == Answer(["old"])
    path.write_bytes(b"x" * (path.stat().st_size - 1) + b"\n")
    assert cache.find("k") is None
    assert cache.keep("k", Answer(["new"])) == cache.find("k") == Answer(["new"])


def test_threads_share_one(tmp_path: Path) -> None:
    cache = RequestCache(tmp_path / "c")

    def work(number: int) -> None:
        for key in map(str, range(40)):
            kept = cache.keep(key, Answer([f"{number}"]))
            assert cache.find(key) == kept

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "c").read_bytes().splitlines()
    assert sorted(json.loads(line)["key"] for line in lines) == sorted(map(str, range(40)))


WRITER = """
import sys
from pathlib import Path
from engine.models.answer import Answer
from engine.models.cache import RequestCache
cache = RequestCache(Path(sys.argv[1]))
for number in range(10**9):
    cache.keep(str(number % 300) if sys.argv[3] else str(number), Answer([sys.argv[2] * 50]))
    print(number, flush=True)
    if sys.argv[3] and number == 300:
        break
"""


def writer(path: Path, name: str, *, ends: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, "ends" if ends else ""]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_share_one(tmp_path: Path) -> None:
    path = tmp_path / "c"
    writers = [writer(path, name, ends=True) for name in "ab"]
    for process in writers:
        process.communicate(timeout=60)
        assert process.returncode == 0
    keys = [json.loads(line)["key"] for line in path.read_bytes().splitlines()]
    assert sorted(keys, key=int) == [str(number) for number in range(300)]


def test_a_writer_that_is_killed_loses_nothing_that_it_kept(tmp_path: Path) -> None:
    path = tmp_path / "c"
    kept = 0
    for after in (1, 20, 70):
        process = writer(path, "x", ends=False)
        assert process.stdout is not None
        for _ in range(after):
            kept = max(kept, int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        cache = RequestCache(path)
        assert all(cache.find(str(number)) == Answer(["x" * 50]) for number in range(kept + 1))


async def test_a_question_that_was_cut_off_is_asked_again(
    server: ChatServer, make_client: MakeClient
) -> None:
    client = make_client()
    server.acts.append(hangs)
    asking = asyncio.create_task(ask(client, draw=1))
    while not server.asked:
        await asyncio.sleep(0.005)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert (await ask(client, draw=1)).answer.texts == ["ok"]
