"""The tables as data frames of numbers: what the CSV files hold. How they look in print is ``stats.printed``'s business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from stats.intervals import INTERVALS, bootstrap
from stats.metrics import measure

TOTAL = "total"
REASONS_APART = " · "
CORPUS = ["kind", "repo", "changes", "broken", "claims", "held", "flips", "rate", "discarded", "discards"]
_SUFFIX = {"claim": "", "repository": "_repo"}


def intervals_table(answers: pd.DataFrame, natural_rate: float, *, resamples: int, rng: np.random.Generator) -> pd.DataFrame:
    """Both bootstraps one under the other, each on its own stream of ``rng``: over claims, then over whole repositories."""
    over_claims, over_repositories = rng.spawn(2)
    return pd.concat(
        [
            bootstrap(answers, natural_rate, by="claim", resamples=resamples, rng=over_claims),
            bootstrap(answers, natural_rate, by="repository", resamples=resamples, rng=over_repositories),
        ],
        ignore_index=True,
    )


def arms_table(answers: pd.DataFrame, natural_rate: float, intervals: pd.DataFrame) -> pd.DataFrame:
    """One row an arm: repositories, counts, ratios, ``<metric>_low``/``_high`` over claims and ``<metric>_repo_low``/``_repo_high`` over repositories."""
    frame = measure(answers, natural_rate).set_index("arm")
    frame.insert(0, "repositories", answers.groupby("arm")["repo"].nunique())
    for (by, metric), rows in intervals.groupby(["by", "metric"]):
        limits = rows.set_index("arm")[["low", "high"]].add_prefix(f"{metric}{_SUFFIX[str(by)]}_")
        frame = frame.join(limits)
    ordered = [f"{metric}{suffix}_{end}" for metric in INTERVALS for suffix in _SUFFIX.values() for end in ("low", "high")]
    return frame.reindex(columns=[*(name for name in frame if name not in ordered), *ordered]).reset_index()


def corpus_table(
    changes: pd.DataFrame, claims: pd.DataFrame, labels: pd.DataFrame, sources: Iterable[Mapping[str, Any]], problems: Iterable[Mapping[str, Any]]
) -> pd.DataFrame:
    """One row a repository and a total row for each kind of source; kinds are never added up. Columns: ``CORPUS``.

    Repositories that yielded nothing are there because ``sources`` names them. ``broken`` counts the changes that gave no claim at all; ``rate`` is
    flips / (flips + held), NaN where nothing got a verdict; ``discards`` says how many claims were discarded for each reason.
    """
    named = {(str(source.get("kind", "")), str(source["repo"])) for source in sources}
    keys = sorted(named | set(changes[["kind", "repo"]].itertuples(index=False, name=None)))
    truth = _truth(changes, claims, labels)
    with_claims = {None, "", *claims["change_id"]}
    failed = {(problem.get("repo"), problem.get("change_id")) for problem in problems if problem.get("change_id") not in with_claims}
    rows = []
    for kind in sorted({kind for kind, _ in keys}):
        repos = [repo for found, repo in keys if found == kind]
        for repo, members in [*((repo, [repo]) for repo in repos), (TOTAL, repos)]:
            in_kind = changes[(changes["kind"] == kind) & changes["repo"].isin(members)]
            broken = sum(name in members for name, _ in failed)
            counts = _counts(truth[(truth["kind"] == kind) & truth["repo"].isin(members)])
            rows.append({"kind": kind, "repo": repo, "changes": len(in_kind), "broken": broken, **counts})
    return pd.DataFrame(rows, columns=CORPUS)


def discards_table(changes: pd.DataFrame, claims: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """One row a (kind, repository, stage, reason): the claims without a truth, most frequent reason of a repository first."""
    truth = _truth(changes, claims, labels)
    lost = truth[~truth["verdict"].isin(["held", "flipped"])]
    counted = lost.groupby(["kind", "repo", "stage", "reason"], sort=True).size().rename("claims").reset_index()
    return counted.sort_values(["kind", "repo", "claims", "stage", "reason"], ascending=[True, True, False, True, True], ignore_index=True)


def problems_table(problems: Iterable[Mapping[str, Any]], changes: pd.DataFrame) -> pd.DataFrame:
    """One row a thing that gave no claim: ``step`` (parent → child, empty for a repository), the stage and the reason, which begins with the module's path."""
    steps = {str(change): step(parent, child) for change, parent, child in changes[["change_id", "parent", "child"]].itertuples(index=False)}
    rows = [{name: str(problem.get(name) or "") for name in ("repo", "change_id", "stage", "reason")} for problem in problems]
    columns = ["repo", "step", "stage", "reason", "change_id"]
    return pd.DataFrame([{**row, "step": steps.get(row["change_id"], "")} for row in rows], columns=columns).sort_values(columns, ignore_index=True)


def step(parent: str, child: str) -> str:
    """A change in the words of its two states, long hashes cut."""
    return f"{parent[:12]} → {child[:12]}"


def flips_table(answers: pd.DataFrame, changes: pd.DataFrame, *, per_repo: int) -> pd.DataFrame:
    """The first ``per_repo`` flipped claims of each repository in the order of their ids, which are hashes: a sample nobody chose.

    Columns ``repo``, ``nodeid``, ``parent``, ``child``, ``quality`` and one an arm: flipped (caught), held (missed) or "no verdict".
    """
    flips = answers[answers["flipped"]].assign(said=lambda rows: rows["verdict"].astype(object).where(rows["covered"], "no verdict"))
    steps = flips.drop_duplicates("question_id").merge(changes[["change_id", "parent", "child"]], on="change_id")
    chosen = steps.sort_values(["repo", "claim_id", "question_id"]).groupby("repo", sort=True).head(per_repo)
    said = flips.pivot(index="question_id", columns="arm", values="said")
    frame = chosen[["question_id", "repo", "nodeid", "parent", "child", "quality"]].merge(said, left_on="question_id", right_index=True)
    return frame.drop(columns="question_id").reset_index(drop=True)


def _truth(changes: pd.DataFrame, claims: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """One row a claim: kind, repo, verdict, stage, reason; a claim that was never labelled says so."""
    frame = claims[["claim_id", "change_id"]].merge(changes[["change_id", "kind", "repo"]], on="change_id", how="left")
    frame = frame.merge(labels[["claim_id", "verdict", "stage", "reason"]], on="claim_id", how="left")
    return frame.fillna({"verdict": "unknown", "stage": "change", "reason": "not labelled"})


def _counts(truth: pd.DataFrame) -> dict[str, Any]:
    """The claim columns of one row of the corpus table."""
    held, flips = int((truth["verdict"] == "held").sum()), int((truth["verdict"] == "flipped").sum())
    reasons = truth.loc[~truth["verdict"].isin(["held", "flipped"]), "reason"].value_counts()
    ordered = sorted(reasons.items(), key=lambda item: (-int(item[1]), str(item[0])))
    told = REASONS_APART.join(f"{count} {reason or 'no reason given'}" for reason, count in ordered)
    rate = flips / (held + flips) if held + flips else np.nan
    return {"claims": len(truth), "held": held, "flips": flips, "rate": rate, "discarded": len(truth) - held - flips, "discards": told}
