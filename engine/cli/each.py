"""One verb over several runs: what fails for one does not keep it from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from engine.cli.app import FAILED, exit_code
from engine.cli.output import put, put_json, say_error

run_argument = click.argument("run")
runs_argument = click.argument("runs", nargs=-1, required=True, metavar="RUN...")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


def each_run(runs: Sequence[str], act: Callable[[str], dict[str, Any]], *, as_json: bool) -> None:
    """Print what ``act`` gives for each run, as ``RUN STATUS`` or JSON. Ends with what the one failure says,
    or with 1 for several."""
    from engine.control.reports import ControlError, NoBackendError

    done: list[dict[str, Any]] = []
    failures: list[ControlError] = []
    for run in runs:
        try:
            done.append(act(run))
        except NoBackendError:
            raise
        except ControlError as error:
            failures.append(error)
            done.append({"run": run, "error": str(error)})
            say_error(str(error))
        else:
            if not as_json:
                put(" ".join(map(str, done[-1].values())))
    if as_json:
        put_json(done)
    if failures:
        codes = {exit_code(error) for error in failures}
        raise click.exceptions.Exit(codes.pop() if len(codes) == 1 else FAILED)
