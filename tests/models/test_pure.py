"""What needs no server: when to try again, what an answer is, which profile is meant, how images are sent."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import httpx
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine.models.answer import Answer, read_answer
from engine.models.errors import NoAnswer, ProfileError
from engine.models.images import image_parts
from engine.models.profiles import asked_for, pick
from engine.models.retrying import LONGEST_BACKOFF_SEC, backoff_sec, retry_after_sec
from engine.store.profile import Profile, profile_problems
from tests.fakes.chat_server import completion


@given(st.integers(0, 10_000), st.integers(0, 2**63 - 1))
def test_a_backoff_is_bounded_and_never_falls_by_half(attempt: int, draw: int) -> None:
    pause = backoff_sec(attempt, draw)
    assert 0.25 <= pause <= LONGEST_BACKOFF_SEC
    assert backoff_sec(attempt + 1, draw) >= pause / 2


@given(st.one_of(st.none(), st.text()), st.one_of(st.none(), st.text()), st.floats(0, 4e9))
def test_whatever_a_server_sends_as_retry_after_is_a_wait(
    after: str | None, date: str | None, now: float
) -> None:
    assert retry_after_sec(after, date, now) >= 0


@pytest.mark.parametrize(
    ("after", "date", "expected"),
    [
        ("3", None, 3.0),
        ("0.5", None, 0.5),
        ("-3", None, 0.0),
        ("nan", None, 0.0),
        ("inf", None, float("inf")),
        ("Thu, 01 Jan 1970 00:01:40 GMT", None, 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None, 0.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", "Thu, 01 Jan 1970 00:01:00 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", "today", 90.0),
    ],
)
def test_retry_after(after: str, date: str | None, expected: float) -> None:
    assert retry_after_sec(after, date, 10.0) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(blacklist_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "error", "text"]),
            inner,
        )
    ),
    max_leaves=15,
)


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_answer_or_none(body: bytes) -> None:
    try:
        answer = read_answer(body, str)
    except NoAnswer:
        return
    assert answer.texts
    "".join(answer.texts).encode()  # holds nothing that a file cannot


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        ([{"type": "text", "text": "h"}, {"type": "image"}, {"type": "text", "text": "i"}], "hi"),
    ],
)
def test_contents_that_servers_send(content: object, text: str) -> None:
    assert read_answer(json.dumps(completion(content)).encode(), str).texts == [text]


def test_tokens_are_known_only_where_all_are() -> None:
    counted = read_answer(json.dumps(completion("a")).encode(), str)
    assert counted.joined(counted).usage == counted.usage + counted.usage  # type: ignore[operator]
    assert counted.joined(Answer(["b"], ["stop"])).usage is None


def test_what_a_model_refuses_stands_beside_its_texts() -> None:
    choices = [{"message": {"content": None, "refusal": "No."}}, {"message": {"content": "yes"}}]
    refused = read_answer(json.dumps({"choices": choices}).encode(), lambda text: text.replace("N", "*"))
    assert (refused.texts, refused.refusals, refused.refusal) == (["", "yes"], ["*o.", ""], "*o.")
    plain = read_answer(json.dumps(completion("a")).encode(), str)
    assert (plain.refusals, plain.refusal) == ([], "")
    assert plain.joined(refused).refusals == ["", "*o.", ""]
    assert plain.joined(plain).refusals == []
    odd = {"choices": [{"message": {"content": "a", "refusal": {"why": 1}}}]}
    assert read_answer(json.dumps(odd).encode(), str).refusals == []


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1},
        {"prompt_tokens": 1, "completion_tokens": -1},
        {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": -1}},
        {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}},
    ],
)
def test_tokens_that_cannot_be_are_not_counted(usage: dict[str, object]) -> None:
    assert read_answer(json.dumps(completion("a", usage=usage)).encode(), str).usage is None


class TestProfiles:
    A, B = Profile(base_url="http://a", model="a"), Profile(base_url="http://b", model="b", active=True)

    def test_by_name(self) -> None:
        assert pick({"a": self.A, "b": self.B}, "a") == "a"

    def test_the_active_or_only_one(self) -> None:
        assert pick({"a": self.A, "b": self.B}, "") == "b"
        assert pick({"a": self.A}, "") == "a"

    @pytest.mark.parametrize(
        ("names", "wanted", "told"),
        [
            (["gpt-5-mini", "local"], "gpt5-mini", "did you mean 'gpt-5-mini'"),
            (["x", "y"], "gpt", r"there are: 'x', 'y'; or add \[profiles.gpt\] to evaltower.toml"),
            ([], "gpt", r"no profile 'gpt' \(add \[profiles.gpt\]"),
            ([], "", r"no profile of a model \(add \[profiles.NAME\]"),
            (["x", "y"], "", "none of the profiles x, y is active"),
        ],
    )
    def test_none(self, names: list[str], wanted: str, told: str) -> None:
        with pytest.raises(ProfileError, match=told):
            pick(dict.fromkeys(names, self.A), wanted)

    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            ({}, ("", "")),
            ({"profile": None, "model": "ignored"}, ("", "")),
            ({"profile": "a", "model": "ignored"}, ("a", "")),
            ({"profile": "__direct__", "provider": "a", "model": "m"}, ("a", "m")),
        ],
    )
    def test_what_a_node_asks_for(self, config: dict[str, object], expected: tuple[str, str]) -> None:
        assert asked_for(config) == expected


class TestImages:
    PIXELS = numpy.arange(4 * 5 * 3, dtype=numpy.uint8).reshape(4, 5, 3)

    def test_an_array_goes_as_png(self) -> None:
        parts, passed_over = image_parts([self.PIXELS], [], "low", "image/jpeg")
        url = parts[0]["image_url"]["url"]
        prefix, _, data = url.partition(",")
        assert prefix == "data:image/png;base64"
        sent = Image.open(io.BytesIO(base64.b64decode(data)))
        assert numpy.array_equal(numpy.asarray(sent), self.PIXELS)
        assert parts[0]["image_url"]["detail"] == "low"
        assert passed_over == []

    def test_base64_goes_as_it_is(self) -> None:
        parts, _ = image_parts(["A" * 200], [], "high", "image/jpeg")
        assert parts[0]["image_url"] == {"url": "data:image/jpeg;base64," + "A" * 200, "detail": "high"}

    def test_labels_stay_with_their_images(self) -> None:
        images = [self.PIXELS, None, self.PIXELS, self.PIXELS]
        parts, passed_over = image_parts(images, ["one", "two", ""], "low", "image/png")
        assert [part.get("text", "image") for part in parts] == ["one", "image", "image", "image"]
        assert passed_over == ["1: NoneType"]

    @pytest.mark.parametrize(
        ("image", "told"),
        [
            (numpy.zeros((0, 0, 3), numpy.uint8), r"0: an array of shape (0, 0, 3), not (H, W, 3)"),
            (numpy.zeros((2, 2, 4), numpy.uint8), r"0: an array of shape (2, 2, 4), not (H, W, 3)"),
            ("frame 3", "0: a text of 7 characters"),
            ({}, "0: dict"),
        ],
    )
    def test_what_is_no_image_is_named(self, image: object, told: str) -> None:
        assert image_parts([image], ["label"], "low", "image/png") == ([], [told])


_HOSTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=70) | st.from_regex(
    r"(xn--)?[a-z0-9é.:\[\]%_-]{0,70}", fullmatch=True
)


@given(st.sampled_from(["http://", "https://"]), _HOSTS, st.text(max_size=20))
def test_a_url_that_the_settings_take_can_be_asked(scheme: str, host: str, rest: str) -> None:
    url = f"{scheme}{host}{rest}"
    if "xn--" not in url and not list(profile_problems(Profile(base_url=url, model="m"), Path("/root"))):
        request = httpx.Request("GET", f"{url.rstrip('/')}/models")
        assert request.url.host
        request.url.host.encode("idna")  # as the system's resolver does
