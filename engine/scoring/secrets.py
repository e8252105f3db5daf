"""Secrets by name: a value is in memory and in the request that needs it, and nowhere else."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from base64 import b64encode
from collections.abc import Mapping, MutableMapping
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.store.keys import Keys

PREFIX = "EVALTOWER_SECRET_"
FILE = Path("outputs", "secrets.toml")


class SecretsError(Exception):
    """A secret cannot be used; the message says why and what helps, and holds no value."""


def variable(name: str) -> str:
    """The environment variable of a secret: ``my-key`` is in ``EVALTOWER_SECRET_MY_KEY``."""
    return PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def set_in(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The secrets that are set there, by the names of their variables."""
    return sorted(name for name, text in environ.items() if name.startswith(PREFIX) and text.strip())


class Secrets:
    """What a root's secrets are: a variable of ``environ``, else an entry of ``outputs/secrets.toml``."""

    def __init__(self, root: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._path = root / FILE
        texts = {name: text.strip() for name, text in environ.items() if name.startswith(PREFIX)}
        self._environ = {name: text for name, text in texts.items() if text}

    @classmethod
    def withheld(cls, root: Path, environ: MutableMapping[str, str] = os.environ) -> Secrets:
        """The same, with the variables taken out of ``environ``: no process that is started from now on,
        and so no agent's shell, has them."""
        secrets = cls(root, environ)
        for name in [name for name in environ if name.startswith(PREFIX)]:
            del environ[name]
        return secrets

    def __repr__(self) -> str:
        return "[secrets]"

    def get(self, name: str) -> str | None:
        """The secret, None where there is none. SecretsError where the file is not private, or the value is
        none that a request can carry."""
        value = self._environ.get(variable(name)) or self._filed.get(variable(name))
        if value is not None and not (value.isascii() and value.isprintable()):
            raise SecretsError(f"the secret {name!r} holds characters that no key has: set it again")
        return value

    def missing(self, name: str) -> str:
        """What is said of a secret that there is not."""
        return (
            f"there is no secret {name!r}: neither {variable(name)} in the environment that the run's backend"
            f" began with, nor an entry of {FILE}. Add one there (mode 0600), or start the backend anew"
        )

    def strike(self, data: bytes) -> bytes:
        """Text, or JSON, without any secret."""
        return self.keys.strike(data)

    def strike_in(self, value: Any) -> Any:
        """JSON data without any secret."""
        return self.keys.strike_in(value)

    @cached_property
    def _filed(self) -> dict[str, str]:
        """The file's entries, by the names of their variables."""
        try:
            with self._path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if mode & 0o077:
                    raise SecretsError(
                        f"{FILE} has mode {mode:04o}, and others may read it: chmod 600 {FILE}"
                    )
                entries = tomllib.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SecretsError(f"{FILE} cannot be read: {error}") from None
        wrong = next((name for name, value in entries.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise SecretsError(f'{FILE}: {wrong!r} is no text: a secret is written as {wrong} = "…"')
        return {variable(name): value.strip() for name, value in entries.items() if value.strip()}

    @cached_property
    def keys(self) -> Keys:
        """What is to be in nothing that is written."""
        try:
            filed = self._filed
        except SecretsError:  # nothing of it was read, so nothing of it was sent
            filed = {}
        values = {**filed, **self._environ}
        encoded = {f"{name} Basic": b64encode(value.encode()).decode() for name, value in values.items()}
        return Keys({**values, **encoded}, {})
