"""Splits by repository, stratified to a flip rate."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from claimflip.errors import ConfigError
from claimflip.records import Change, Claim, Label, Question, content_id, question_id
from claimflip.source.diff import DIFF_LIMIT, truncate

DEVELOPMENT = ("boltons", "arrow")


class HeldOut:
    """Hold out whole repositories, so that no diff is on both sides: every repository but the development ones.

    For each kind of source, since kinds are never pooled: all flips of the split, and held claims drawn uniformly over all of its held claims, in the
    order of hash(seed, claim id), up to ``flip_rate``; where there are too few, all of them. ``flip_rate=None`` asks every labelled claim.
    ``diff_limit`` is in characters.
    """

    def __init__(
        self,
        name: str | None = None,
        development: Sequence[str] = DEVELOPMENT,
        flip_rate: float | None = 0.25,
        seed: int = 0,
        diff_limit: int = DIFF_LIMIT,
    ) -> None:
        self.name = name or type(self).__name__.lower()
        if flip_rate is not None and not 0 < flip_rate <= 1:
            raise ConfigError(f"split {self.name!r}: flip_rate is {flip_rate}, it must be above 0 and at most 1, or null to ask every claim")
        self.development = (development,) if isinstance(development, str) else tuple(development)
        self.flip_rate = flip_rate
        self.seed = seed
        self.diff_limit = diff_limit

    def includes(self, repo: str) -> bool:
        """Whether the repository belongs to the split."""
        return repo not in self.development

    def questions(self, changes: Sequence[Change], claims: Sequence[Claim], labels: Sequence[Label]) -> tuple[list[Question], Mapping[str, Any]]:
        """The questions by claim id, and the selection: the natural rate of each kind's pool, the rate reached, counts for every repository of the split.

        Claims without a held or flipped label are left out and counted as unknown.
        """
        of_change = {change.change_id: change for change in changes if self.includes(change.repo)}
        pool = {claim.claim_id: claim for claim in claims if claim.change_id in of_change}
        verdicts = {label.claim_id: label.verdict for label in labels}
        counts = {change.repo: Counter[str]() for change in of_change.values()}
        found: dict[str, dict[str, list[str]]] = {change.kind: defaultdict(list) for change in of_change.values()}
        for identity, claim in pool.items():
            change, verdict = of_change[claim.change_id], verdicts.get(identity, "unknown")
            counts[change.repo][verdict] += 1
            found[change.kind][verdict].append(identity)
        drawn = {kind: self._drawn(by_verdict["flipped"], by_verdict["held"]) for kind, by_verdict in sorted(found.items())}
        chosen = sorted(identity for identities, _ in drawn.values() for identity in identities)
        asked = [self._question(pool[identity], of_change[pool[identity].change_id]) for identity in chosen]
        return asked, {
            "seed": self.seed,
            "flip_rate": self.flip_rate,
            "questions": len(asked),
            "flips": sum(count["flipped"] for count in counts.values()),
            **_told({kind: rates for kind, (_, rates) in drawn.items()}),
            "unknown": sum(count["unknown"] for count in counts.values()),
            "pool": {repo: {verdict: counts[repo][verdict] for verdict in ("flipped", "held", "unknown")} for repo in sorted(counts)},
            "diff_limit": self.diff_limit,
            "truncated": sum(question.diff_truncated for question in asked),
        }

    def _drawn(self, flipped: Sequence[str], held: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """What is asked of one kind of source, and the rates that this makes."""
        wanted = len(held) if self.flip_rate is None else round(len(flipped) * (1 - self.flip_rate) / self.flip_rate)
        asked = [*flipped, *sorted(held, key=lambda claim: content_id("stratified", str(self.seed), claim))[:wanted]]
        return asked, {
            "base_rate": _rate(len(flipped), len(asked)),
            "natural_rate": _rate(len(flipped), len(flipped) + len(held)),
            "too_few_held": len(held) < wanted,
        }

    def _question(self, claim: Claim, change: Change) -> Question:
        diff, truncated = truncate(change.source_diff, self.diff_limit)
        return Question(
            question_id=question_id(self.name, "code", claim.claim_id, claim.text, diff),
            claim_id=claim.claim_id,
            change_id=change.change_id,
            split=self.name,
            variant="code",
            claim_text=claim.text,
            diff=diff,
            diff_change_id=change.change_id,
            diff_truncated=truncated,
        )


class Development(HeldOut):
    """The repositories that rules, prompts and defaults are designed on, selected like the held-out ones."""

    def includes(self, repo: str) -> bool:
        """Whether the repository is a development one."""
        return repo in self.development


def _told(rates: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The rates of each kind as they are recorded: the natural ones by kind, the others by kind too only where there are several."""
    by_kind = {name: {kind: of_kind[name] for kind, of_kind in rates.items()} for name in ("natural_rate", "base_rate", "too_few_held")}
    several = {"base_rates": by_kind["base_rate"], "too_few_held": by_kind["too_few_held"]}
    alone = next(iter(rates.values()), {"natural_rate": None, "base_rate": None, "too_few_held": False})
    return {"natural_rates": by_kind["natural_rate"], **(several if len(rates) > 1 else alone)}


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None
