"""Splits by repository, stratified to a flip rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from claimflip.errors import ConfigError
from claimflip.records import Change, Claim, Label, Question, content_id, question_id
from claimflip.source.diff import truncate

DEVELOPMENT = ("boltons", "arrow")


class HeldOut:
    """Hold out whole repositories, so that no diff is on both sides: every repository but the development ones.

    All flips of the split, and held claims drawn uniformly over all of its held claims, in the order of hash(seed, claim id), up to ``flip_rate``;
    where there are too few, all of them. ``flip_rate=None`` asks every labelled claim. ``diff_limit`` is in characters.
    """

    def __init__(
        self,
        name: str = "heldout",
        development: Sequence[str] = DEVELOPMENT,
        flip_rate: float | None = 0.25,
        seed: int = 0,
        diff_limit: int = 12_000,
    ) -> None:
        if flip_rate is not None and not 0 < flip_rate <= 1:
            raise ConfigError(f"split {name!r}: flip_rate is {flip_rate}, it must be above 0 and at most 1, or null to ask every claim")
        self.name = name
        self.development = (development,) if isinstance(development, str) else tuple(development)
        self.flip_rate = flip_rate
        self.seed = seed
        self.diff_limit = diff_limit

    def includes(self, repo: str) -> bool:
        """Whether the repository belongs to the split."""
        return repo not in self.development

    def questions(self, changes: Sequence[Change], claims: Sequence[Claim], labels: Sequence[Label]) -> tuple[list[Question], Mapping[str, Any]]:
        """The questions by claim id, and the selection: natural rate of the pool, rate reached, counts for every repository of the split.

        Claims without a held or flipped label are left out and counted as unknown.
        """
        of_change = {change.change_id: change for change in changes if self.includes(change.repo)}
        pool = {claim.claim_id: claim for claim in claims if claim.change_id in of_change}
        verdicts = {label.claim_id: label.verdict for label in labels}
        counts = {change.repo: Counter[str]() for change in of_change.values()}
        for claim in pool.values():
            counts[of_change[claim.change_id].repo][verdicts.get(claim.claim_id, "unknown")] += 1
        flipped = [identity for identity in pool if verdicts.get(identity) == "flipped"]
        held = sorted((identity for identity in pool if verdicts.get(identity) == "held"), key=self._draw)
        wanted = len(held) if self.flip_rate is None else round(len(flipped) * (1 - self.flip_rate) / self.flip_rate)
        chosen = sorted([*flipped, *held[:wanted]])
        asked = [self._question(pool[identity], of_change[pool[identity].change_id]) for identity in chosen]
        return asked, {
            "seed": self.seed,
            "flip_rate": self.flip_rate,
            "questions": len(asked),
            "flips": len(flipped),
            "base_rate": _rate(len(flipped), len(asked)),
            "natural_rate": _rate(len(flipped), len(flipped) + len(held)),
            "natural_rates": self._natural_rates(of_change.values(), pool.values(), verdicts),
            "too_few_held": len(held) < wanted,
            "unknown": sum(count["unknown"] for count in counts.values()),
            "pool": {repo: {verdict: counts[repo][verdict] for verdict in ("flipped", "held", "unknown")} for repo in sorted(counts)},
            "diff_limit": self.diff_limit,
            "truncated": sum(question.diff_truncated for question in asked),
        }

    def _natural_rates(self, changes: Iterable[Change], claims: Iterable[Claim], verdicts: Mapping[str, str]) -> dict[str, float | None]:
        """The natural rate of each kind of source, for kinds are never pooled in one table."""
        kinds = {change.change_id: change.kind for change in changes}
        counts = Counter((kinds[claim.change_id], verdicts.get(claim.claim_id)) for claim in claims)
        return {kind: _rate(counts[kind, "flipped"], counts[kind, "flipped"] + counts[kind, "held"]) for kind in sorted(set(kinds.values()))}

    def _draw(self, claim: str) -> str:
        return content_id("stratified", str(self.seed), claim)

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

    def __init__(
        self,
        name: str = "development",
        development: Sequence[str] = DEVELOPMENT,
        flip_rate: float | None = 0.25,
        seed: int = 0,
        diff_limit: int = 12_000,
    ) -> None:
        super().__init__(name=name, development=development, flip_rate=flip_rate, seed=seed, diff_limit=diff_limit)

    def includes(self, repo: str) -> bool:
        """Whether the repository is a development one."""
        return repo in self.development


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None
