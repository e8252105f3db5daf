"""The word by which a host that others can reach knows its own callers. Python 3.8+, standard library only.

It travels in the environment of the host's process and in the header of each call: never in a command line,
which every user of a machine may read.
"""

from __future__ import annotations

import hmac

TOKEN_VARIABLE = "EVALTOWER_HOST_TOKEN"
HEADER = "Authorization"


def bearer(token: str) -> str:
    """The header's value."""
    return f"Bearer {token}"


def is_bearer(said: str, token: str) -> bool:
    """Whether a caller said the token; takes as long for a word that is nearly right."""
    return hmac.compare_digest(said.encode("utf-8", "surrogateescape"), bearer(token).encode())
