"""A run's report and an episode's video, over HTTP."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from engine.store.rundir import RunDir
from tests.api.client import EVAL
from tests.api.conftest import Server
from tests.fakes.finished_runs import make_run
from tests.report.filmed import filmed_run


@pytest.fixture(scope="module")
def filmed(shared: Server) -> RunDir:
    return filmed_run(shared.root)


def test_a_report_is_a_page_that_may_do_nothing(shared: Server, filmed: RunDir) -> None:
    other = make_run(shared.root)
    found = shared.client().http.get(f"{EVAL}/runs/{filmed.run_id}/report", params={"against": other.run_id})
    assert found.status_code == 200
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("; sandbox")
    assert f"Against {other.run_id}" in found.text
    assert found.text.endswith("</html>\n")


def test_a_video_is_what_export_writes(shared: Server, filmed: RunDir) -> None:
    path = f"{EVAL}/runs/{filmed.run_id}/episodes/0/video"
    found = shared.client().http.get(path)
    assert found.headers["content-type"] == "video/mp4"
    assert found.content[4:8] == b"ftyp"
    found = shared.client().http.get(path, params={"format": "gif", "port": "views.0", "caption": "false"})
    assert found.headers["content-type"] == "image/gif"
    with Image.open(io.BytesIO(found.content)) as image:
        assert (image.size, image.n_frames) == ((320, 320), 5)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "query", "status", "told"),
    [
        ("episodes/1/video", {}, 404, "has no frames"),
        ("episodes/0/video", {"port": "depth"}, 404, "has no images 'depth'"),
        ("episodes/9/video", {}, 404, "no episode '9'"),
        ("episodes/0/video", {"format": "avi"}, 400, "must be one of mp4, gif"),
        ("episodes/0/video", {"fps": "0"}, 400, "fps"),
        ("episodes/0/video", {"format": "gif", "fps": "60"}, 400, "at most 50"),
        ("report", {"against": "no_such_run"}, 404, "no run is called"),
    ],
)
def test_what_there_is_not_is_told(
    shared: Server, filmed: RunDir, path: str, query: dict[str, Any], status: int, told: str
) -> None:
    found = shared.client().http.get(f"{EVAL}/runs/{filmed.run_id}/{path}", params=query)
    assert found.status_code == status
    assert told in found.json()["detail"]
