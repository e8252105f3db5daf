"""URLs of platforms: no key may be in one, as the run's files keep them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_REMEDY = (
    "leave that out: a key is a secret that auth_secret names, in EVALTOWER_SECRET_<NAME> or in"
    " outputs/secrets.toml"
)


def url_problem(url: str) -> tuple[str, str] | None:
    """What is wrong with an endpoint, and the remedy; neither repeats anything of it."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or " " in url:
        return "must be http://HOST… or https://HOST…", ""
    if "@" in parts.netloc:
        return "has a login before its host, which the run's files would keep", _REMEDY
    if "?" in url or "#" in url:
        return "has a query or a fragment, which the run's files would keep", _REMEDY
    return None


def shown_url(url: str) -> str:
    """Without login, query and fragment, where keys are put by mistake."""
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    return scheme + separator + re.split("[?#]", rest.rpartition("@")[2])[0]


def with_shown_urls(text: str) -> str:
    """The text with each URL in it as :func:`shown_url` has it."""
    return _URL.sub(lambda found: shown_url(found[0]), text)
