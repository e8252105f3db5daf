"""Whether a grader's command was run at all: where its program is not there, nothing was measured."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from posixpath import basename, isabs

from engine.scoring.context import Compute, Executed
from engine.scoring.graders.wrappers import SHELLS, WRAPPERS, given_to_shell

CANNOT_RUN = (126, 127)
"""What a shell ends with that finds no program, or may not run it; a program may end so, too."""
CHECK_SEC = 60.0

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(r"[\w./+][\w./+-]*")
_MARKS = "();<>|&\n"
_BEFORE_COMMANDS = ("!", "{", "if", "then", "elif", "else", "while", "until", "do")
_CHECK = (
    'pwd; pwd -P; printf "%s\\n" "$PATH"; for each in {}; do case $each in'
    ' */*) [ -x "$each" ] ;; *) command -v "$each" > /dev/null 2>&1 ;; esac || printf "%s\\n" "$each"; done'
)


async def missing_program(
    compute: Compute, command: str, done: Executed, env: Mapping[str, str] | None = None
) -> str | None:
    """The program of the command line that the environment lacks, so that ``done`` says nothing of the
    episode; None where there is none.

    One that lies in the episode's folder, or may have lain there, is none: it was there, and what the episode
    took away fails it.
    """
    programs = programs_of(command) if done.exit_code in CANNOT_RUN else []
    if not programs:
        return None
    told = await compute.exec(_CHECK.format(shlex.join(programs)), timeout_sec=CHECK_SEC, env=env)
    lines = told.stdout.splitlines()
    if told.timed_out or len(lines) < 3:
        return None
    roots, path, missing = lines[:2], lines[2], lines[3:]
    searched = any(not isabs(folder) or _is_inside(folder, roots) for folder in path.split(":"))
    return next(
        (name for name in missing if not (_is_inside(name, roots) if isabs(name) else searched)), None
    )


def programs_of(command: str) -> list[str]:
    """The programs that a shell command line begins its commands with, and those that they run by what they
    are given (``timeout 5 make``, ``bash -c make``): of those by name or absolute path, the ones that can be
    told. Which they are in what only a shell understands is not guessed, nor where it sets another PATH."""
    if "<<" in command or "esac" in command or "PATH=" in command:
        return []
    try:
        words = [word for begun in _commands(command) for word in _programs(begun)]
    except ValueError:  # a quote that does not end: the shell refuses it, too
        return []
    own = [word for word in words if re.search(rf"(^|\W){re.escape(word)}\s*\(\)", command)]
    return [
        word
        for word in words
        if _NAME.fullmatch(word) and word not in own and (isabs(word) or "/" not in word)
    ]


def _commands(command: str) -> Iterator[list[str]]:
    """The words of each of its commands, without where they read from and write to."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_MARKS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    words: list[str] = []
    is_target = False
    for word in lexer:
        if word and set(word) <= set(_MARKS):
            is_target = bool(set(word) & set("<>"))
            if not is_target:
                yield words
                words = []
        elif is_target:
            is_target = False
        else:
            words.append(word)
    yield words


def _programs(words: list[str]) -> Iterator[str]:
    while words:
        word, *words = words
        if _ASSIGNMENT.match(word) or word in _BEFORE_COMMANDS:
            continue
        yield word
        name = basename(word)
        if name in SHELLS:
            yield from programs_of(given_to_shell(words))
        wrapper = WRAPPERS.get(name)
        words = wrapper.command_of(words) if wrapper else []


def _is_inside(path: str, roots: list[str]) -> bool:
    return any(f"{path}/".startswith(root.rstrip("/") + "/") for root in roots)
