"""What may go wrong with a chat model, by who is to blame. No message holds a key."""

from __future__ import annotations

from engine.components.errors import HostFailure


class ProfileError(Exception):
    """No such profile, none to choose from, or its key is not set. ``remedy``: what helps."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message} ({remedy})")
        self.message = message
        self.remedy = remedy


class KeyMissing(ProfileError):
    """There is the profile, and no key for it that can be used."""


class ChatRefused(Exception):
    """The server will not answer this request, however often it is asked: the caller's fault."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ChatUnavailable(HostFailure):
    """The server gave no answer that could be used, in all tries: never the agent's fault."""

    termination = "exception"


class ChatTimeout(ChatUnavailable):
    """The server did not answer in time when it was last tried."""


class NoAnswer(Exception):
    """One try came to nothing: the message says how."""


class AnswerLate(NoAnswer):
    """Nothing whole came back in time."""
