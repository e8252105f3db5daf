from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest

from engine.scoring.auth import auth_headers
from engine.scoring.secrets import Secrets, SecretsError


def _filed(root: Path, text: str, mode: int = 0o600) -> Path:
    path = root / "outputs" / "secrets.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_secret_is_a_variable_else_an_entry_of_the_file(tmp_path: Path) -> None:
    _filed(tmp_path, 'my-key = "of the file"\nother = " also "\nempty = ""\n')
    secrets = Secrets(
        tmp_path, {"EVALTOWER_SECRET_MY_KEY": " of the environment ", "EVALTOWER_SECRET_OTHER": " "}
    )

    assert secrets.get("my-key") == "of the environment"
    assert secrets.get("other") == "also"
    assert secrets.get("empty") is None
    assert secrets.get("nobody") is None
    assert Secrets(tmp_path, {}).get("my-key") == "of the file"


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    assert Secrets(tmp_path, {}).get("any") is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_may_read_is_refused_and_the_remedy_is_said(tmp_path: Path, mode: int) -> None:
    _filed(tmp_path, 'key = "s3cret-value"\n', mode)
    secrets = Secrets(tmp_path, {"EVALTOWER_SECRET_SET": "from-outside"})

    with pytest.raises(SecretsError, match=r"chmod 600 outputs/secrets.toml") as told:
        secrets.get("key")
    assert f"mode {mode:04o}" in str(told.value)
    assert secrets.get("set") == "from-outside"
    assert secrets.strike(b"from-outside") == b"[key]"


@pytest.mark.parametrize(
    "text", ['key = "s3cret-value', "key = 5\n", '[key]\nvalue = "s3cret-value"\n', "\xff"]
)
def test_a_file_that_cannot_be_used_is_told_without_a_value(tmp_path: Path, text: str) -> None:
    _filed(tmp_path, text)
    with pytest.raises(SecretsError, match=r"outputs/secrets.toml") as told:
        Secrets(tmp_path, {}).get("key")
    assert "s3cret" not in str(told.value)


def test_a_value_that_no_request_can_carry_is_refused(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, {"EVALTOWER_SECRET_KEY": "two\nlines-of-it"})
    with pytest.raises(SecretsError, match="'key' holds characters that no key has") as told:
        secrets.get("key")
    assert "lines-of-it" not in str(told.value)


def test_no_value_shows_itself(tmp_path: Path) -> None:
    _filed(tmp_path, 'lf = "pk-1:sk-long-one"\n')
    secrets = Secrets(tmp_path, {"EVALTOWER_SECRET_A": "a-long-value"})
    encoded = b64encode(b"pk-1:sk-long-one")

    assert "long" not in repr(secrets)
    assert "long" not in secrets.missing("b")
    assert secrets.strike(b'"a-long-value" pk-1:sk-long-one Basic ' + encoded) == b'"[key]" [key] Basic [key]'
    assert secrets.strike_in({"x": ["a-long-value!"]}) == {"x": ["[key]!"]}


def test_withheld_secrets_are_no_longer_in_the_environment(tmp_path: Path) -> None:
    environ = {"EVALTOWER_SECRET_A": "a-long-value", "PATH": os.defpath}
    secrets = Secrets.withheld(tmp_path, environ)

    assert environ == {"PATH": os.defpath}
    assert secrets.get("a") == "a-long-value"


@pytest.mark.case(43)
@pytest.mark.parametrize(
    ("kind", "secret", "headers"),
    [
        ("mlflow", None, {}),
        ("mlflow", "token", {"Authorization": "Bearer token"}),
        ("mlflow", "Basic dTpw", {"Authorization": "Basic dTpw"}),
        ("otlp", "bearer t", {"Authorization": "bearer t"}),
        ("phoenix", "token", {"Authorization": "Bearer token"}),
        ("langfuse", "pk:sk", {"Authorization": "Basic cGs6c2s="}),
        ("langsmith", "lsv2_key", {"x-api-key": "lsv2_key"}),
    ],
)
def test_each_platform_is_told_who_asks_in_its_way(
    kind: str, secret: str | None, headers: dict[str, str]
) -> None:
    assert auth_headers(kind, secret) == headers
