"""``python -m engine.evaluation --run-dir DIR``: one run in its own process. Exit code 0: it completed."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from engine.evaluation.run import Run
from engine.store.records import Spec
from engine.store.rundir import RunDir, RunDirError

log = logging.getLogger("engine.evaluation")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.evaluation", description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True, help="a run folder that holds spec.json")
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    run = RunDir(arguments.run_dir.resolve())
    try:
        spec = run.read_spec()
    except RunDirError as error:
        log.error("%s", error)
        return 2
    try:
        status = asyncio.run(_go(run, spec))
    except OSError as error:
        log.error("the run's files cannot be written: %s", error)
        return 1
    return 0 if status == "completed" else 1


async def _go(run: RunDir, spec: Spec) -> str:
    return await Run(run, spec).go()


if __name__ == "__main__":
    sys.exit(main())
