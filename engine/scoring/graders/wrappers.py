"""Programs that run another, which they are given as words or as a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """letters, names: its options, short and long, whose value may be the next word. operands: the words
    before the command's."""

    letters: str = ""
    names: Sequence[str] = ()
    operands: int = 0

    def command_of(self, words: Sequence[str]) -> list[str]:
        """Of the words that it is given, those of the command that it runs."""
        at = 0
        while at < len(words) and words[at].startswith("-"):
            at += 1
            if words[at - 1] == "--":
                break
            at += self._takes_next(words[at - 1])
        return list(words[at + self.operands :])

    def _takes_next(self, option: str) -> bool:
        if option.startswith("--"):
            return option[2:] in self.names
        valued = [place for place, letter in enumerate(option) if letter in self.letters]
        return bool(valued) and valued[0] == len(option) - 1


WRAPPERS = {
    "chrt": Wrapper("TPD", operands=1),
    "doas": Wrapper("uC"),
    "env": Wrapper("uC", ("unset", "chdir")),
    "exec": Wrapper("a"),
    "flock": Wrapper("wE", ("timeout", "wait", "conflict-exit-code"), operands=1),
    "ionice": Wrapper("cn", ("class", "classdata")),
    "nice": Wrapper("n", ("adjustment",)),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("ioe", ("input", "output", "error")),
    "sudo": Wrapper("CDghpRrTtUu", ("chdir", "group", "host", "prompt", "chroot", "user")),
    "taskset": Wrapper(operands=1),
    "time": Wrapper("fo", ("format", "output")),
    "timeout": Wrapper("ks", ("kill-after", "signal"), operands=1),
    "unbuffer": Wrapper(),
    "xargs": Wrapper(
        "adEILnPs", ("arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace")
    ),
    "xvfb-run": Wrapper(
        "efnpsw", ("error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait")
    ),
}
SHELLS = ("ash", "bash", "dash", "ksh", "sh", "zsh")


def given_to_shell(words: Sequence[str]) -> str:
    """The command line that a shell is given by ``-c``; "" where it reads a file."""
    is_command, takes_next = False, False
    for word in words:
        if takes_next:
            takes_next = False
        elif word.startswith("--"):
            takes_next = word in ("--rcfile", "--init-file")
        elif word.startswith(("-", "+")):
            is_command = is_command or (word[0] == "-" and "c" in word)
            takes_next = word.endswith(("o", "O"))
        else:
            return word if is_command else ""
    return ""
