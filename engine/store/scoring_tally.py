"""What came of the scoring of a run, over its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from engine.figures import count
from engine.store.records import EpisodeRow
from engine.store.scores import Measured, ModelUse, ScoringTally, measured_values, used_together
from engine.text import cut

LONGEST_WHY = 300


def scoring_tally(rows: Sequence[EpisodeRow]) -> ScoringTally | None:
    """The tally; None of a run that is not scored."""
    scored = [row for row in rows if row.scoring != "none"]
    if not scored:
        return None
    not_judged = [failures for row in scored if (failures := _not_judged(row))]
    reasons = Counter(reason for failures in not_judged for reason in failures).most_common()
    return ScoringTally(
        pending=sum(row.scoring == "pending" for row in scored),
        undecided=sum(
            row.scoring == "final" and row.status == "completed" and row.verdict is None for row in scored
        ),
        not_judged=len(not_judged),
        not_judged_for=dict(reasons),
        not_judged_why=_why([reason for reason, _ in reasons], not_judged),
        judges_used=used_together(row.judges_used for row in scored if row.judges_used is not None),
    )


def hidden_scores(row: EpisodeRow) -> list[str]:
    """Metrics that graders or judges have measured, and the graph too, under the same name: that counts."""
    return sorted(measured_values(row.scores).keys() & row.metrics.keys())


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


def _not_judged(row: EpisodeRow) -> dict[str, str]:
    """Reason → words, of the scores that judges were to give, and did not: of each reason its first."""
    found: dict[str, str] = {}
    for score in row.scores:
        if score.grader_id.startswith("judge:") and not isinstance(score, Measured):
            found.setdefault(score.reason, " ".join(str(score.detail or "").split()))
    return found


def _why(reasons: Sequence[str], not_judged: Sequence[Mapping[str, str]]) -> str:
    """The most frequent words of each reason, which is named where there are several."""
    told = {}
    for reason in reasons:
        said = Counter(failures[reason] for failures in not_judged if reason in failures)
        told[reason] = cut(said.most_common(1)[0][0], LONGEST_WHY)
    if len(told) == 1:
        return told[reasons[0]]
    return "; ".join(f"{reason}: {words}" for reason, words in told.items())
