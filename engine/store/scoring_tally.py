"""What came of the scoring of a run, over its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.figures import count
from engine.store.records import EpisodeRow
from engine.store.scores import Invalid, Measured, ModelUse, ScoringTally, Unmeasured, used_together
from engine.text import cut

LONGEST_WHY = 300


def scoring_tally(rows: Sequence[EpisodeRow]) -> ScoringTally | None:
    """The tally; None of a run that is not scored."""
    scored = [row for row in rows if row.scoring != "none"]
    if not scored:
        return None
    failures = [failure for row in scored if (failure := _not_judged(row)) is not None]
    reasons = Counter(failure.reason for failure in failures).most_common()
    return ScoringTally(
        pending=sum(row.scoring == "pending" for row in scored),
        undecided=sum(
            row.scoring == "final" and row.status == "completed" and row.verdict is None for row in scored
        ),
        not_judged=len(failures),
        not_judged_for=dict(reasons),
        not_judged_why=_words([f for f in failures if f.reason == reasons[0][0]]) if reasons else "",
        judges_used=used_together(row.judges_used for row in scored if row.judges_used is not None),
    )


def use_in_words(used: ModelUse) -> str:
    """``12,345 prompt and 678 completion tokens, $0.012 (2 answers without a price)``."""
    told = f"{used.prompt_tokens:,} prompt and {used.completion_tokens:,} completion tokens"
    if used.usd is not None:
        told += ", less than $0.001" if 0 < used.usd < 0.001 else f", ${used.usd:,.3f}"
    lacking = [
        f"{count(used.uncounted, 'answer')} not counted" if used.uncounted else "",
        f"{count(used.unpriced, 'answer')} without a price" if used.unpriced else "",
    ]
    return told + (f" ({', '.join(filter(None, lacking))})" if any(lacking) else "")


def not_judged_in_words(tally: ScoringTally) -> str:
    """``3 episodes (grader_timeout 2, grader_error 1): no answer within 30 s``."""
    reasons = ", ".join(f"{reason} {times}" for reason, times in tally.not_judged_for.items())
    return f"{count(tally.not_judged, 'episode')} ({reasons}): {tally.not_judged_why}"


def _not_judged(row: EpisodeRow) -> Unmeasured | Invalid | None:
    """The first score that a judge was to give, and did not."""
    return next(
        (s for s in row.scores if s.grader_id.startswith("judge:") and not isinstance(s, Measured)), None
    )


def _words(failures: Sequence[Unmeasured | Invalid]) -> str:
    """The most frequent, on one line."""
    told = Counter(" ".join(str(failure.detail or "").split()) for failure in failures)
    return cut(told.most_common(1)[0][0], LONGEST_WHY)
