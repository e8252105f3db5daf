"""A secret as the header that a platform takes it in."""

from __future__ import annotations

import base64
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* +\S")


def auth_headers(kind: str, secret: str | None) -> dict[str, str]:
    """A secret with a scheme (``Basic …``) is sent as it is, one without as ``Bearer``.

    Langfuse's pair ``pk-…:sk-…`` becomes ``Basic``; LangSmith's key is sent raw, as ``x-api-key``. Raises
    ValueError, which does not repeat the secret, for one that no header can carry.
    """
    if secret is None:
        return {}
    secret = secret.strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise ValueError("is empty, or has characters that no HTTP header can carry")
    if kind == "langsmith":
        return {"x-api-key": secret}
    if _SCHEME.match(secret):
        return {"Authorization": secret}
    if kind == "langfuse" and ":" in secret:
        return {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}
    return {"Authorization": f"Bearer {secret}"}
