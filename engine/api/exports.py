"""The routes of what is made for others: a run's report, an episode's video."""

from __future__ import annotations

from engine.api.endpoint import Call, Made
from engine.report.content import read_comparison, read_run


def report(call: Call) -> Made:
    from engine.report.markup import POLICY
    from engine.report.run_page import run_page

    whole = read_run(call.control, call.path["run_id"])
    compared = read_comparison(call.control, whole.run.run_id, call.query.against)
    pieces = run_page(whole, compared)
    return Made(lambda file: file.writelines(pieces), "text/html; charset=utf-8", POLICY)


def video(call: Call) -> Made:
    from engine.report.filming import film_of

    asked = call.query
    film = film_of(
        call.control,
        call.path["run_id"],
        call.path["index"],
        asked.format,
        node=asked.node,
        port=asked.port,
        fps=asked.fps,
        captioned=asked.caption,
    )
    return Made(film.write, "video/mp4" if asked.format == "mp4" else "image/gif")
