"""``python -m engine.evaluation --run-dir DIR``: one attempt at a run in its own process, or at scoring it
again. ``--shard K/N``: of a run that is split over N machines, the part K, from 0. Exit code 0: it completed.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path

from engine.evaluation.run import Run
from engine.evaluation.score_run import ScoreRun
from engine.store.disk import advice
from engine.store.fence import Fence, FencedError
from engine.store.records import Spec
from engine.store.rundir import RunDir, RunDirError

log = logging.getLogger("engine.evaluation")


class _Stderr(io.TextIOBase):
    """Standard error without a buffer: what a full disk does not take is gone, and nothing fails for it."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        return len(text)


def main() -> int:
    sys.stderr = _Stderr()
    parser = argparse.ArgumentParser(prog="python -m engine.evaluation", description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="a run folder that holds spec.json")
    parser.add_argument(
        "--shard", type=_shard, metavar="K/N", help="play part K, from 0, of N; its files are in shards/K"
    )
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    shard, shards = arguments.shard or (None, 1)
    run = RunDir(arguments.run_dir.resolve(), shard)
    try:
        fence = Fence.of_this_process(run)
        spec = run.read_spec()
        status = asyncio.run(_go(run, spec, fence, shards))
    except RunDirError as error:
        log.error("%s", error)
        return 2
    except FencedError as error:
        log.warning("%s", error)
        return 1
    except OSError as error:
        log.error(
            "the run's last files could not be written: %s, then `evaltower resume %s`",
            advice(error),
            run.run_id,
        )
        return 1
    return 0 if status == "completed" else 1


def _shard(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and int(number) < int(count):
        return int(number), int(count)
    raise argparse.ArgumentTypeError(f"{text!r} is not K/N, a part K of N that are counted from 0, as in 0/2")


async def _go(run: RunDir, spec: Spec, fence: Fence, shards: int) -> str:
    if fence.job().kind == "score":
        return await ScoreRun(run, spec, fence).go()
    return await Run(run, spec, fence, shards).go()


if __name__ == "__main__":
    sys.exit(main())
