"""The oracle: restore the parent's tests over the child's source, run both sides N times, and say what is true."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore

from claimflip.errors import BuildError, ConfigError
from claimflip.ledger import Ledger, code_id
from claimflip.protocols import Source
from claimflip.records import Change, Claim, Label, Side, content_id
from claimflip.source.modules import SourceTree
from claimflip.source.trees import restore_tests
from oracle.environment import Environment, Environments
from oracle.verdict import SideRuns, broken, confirmed, label, shadowed
from oracle.workspace import Limits, TreeWorkspace


class ExecutionOracle:
    """Labels claims by running them: ``runs`` times at *t* and at *t+1*, spread over ``processes`` fresh processes a side, each with its own hash seed.

    One environment a repository (the paper's rule), from what its newest and its oldest tree declare. ``workers`` probes run at once. Limits are in seconds:
    for importing one test module, for one test without a sign of life, for one probe. ``requirements`` adds test requirements by repository.
    """

    def __init__(
        self,
        *,
        environments: Environments,
        runs: int = 10,
        processes: int = 2,
        workers: int = 2,
        collect_seconds: float = 60,
        test_seconds: float = 60,
        probe_seconds: float = 1800,
        requirements: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        counts = {"runs": runs, "processes": processes, "workers": workers}
        seconds = {"collect_seconds": collect_seconds, "test_seconds": test_seconds, "probe_seconds": probe_seconds}
        for name, value in {**counts, **seconds}.items():
            if not (value >= 1 if name in counts else value > 0):
                raise ConfigError(f"oracle.{name}={value}: it must be {'1 or more' if name in counts else 'above 0'}")
        self.environments = environments
        self.runs = runs
        self.processes = min(processes, runs)
        self.limits = Limits(collect=collect_seconds, test=test_seconds, probe=probe_seconds)
        self.requirements = requirements or {}
        self._slots = BoundedSemaphore(workers)
        self._built: dict[str, Environment | BuildError] = {}

    def prepare(self, source: Source, changes: Sequence[Change], ledger: Ledger) -> None:
        """Resolve (once; the ledger keeps the lock) and build the repository's environment."""
        if source.repo in self._built or not changes:
            return
        key = content_id("lock", source.repo, self._settings(source.repo), *sorted(change.change_id for change in changes))
        known = ledger.get("lock", key)
        try:
            lock, dropped = json.loads(known) if known else self._resolved(source, changes)
            if not known:
                ledger.put("lock", key, json.dumps([lock, dropped]), 0)
            self._built[source.repo] = self.environments.build(lock, tuple(dropped))
        except BuildError as error:
            self._built[source.repo] = error

    def _resolved(self, source: Source, changes: Sequence[Change]) -> tuple[str, tuple[str, ...]]:
        by_date = sorted(changes, key=lambda change: (change.date, change.change_id))
        ends: tuple[tuple[Change, Side], ...] = ((by_date[-1], "child"), (by_date[0], "parent"))
        with tempfile.TemporaryDirectory(prefix="claimflip-") as scratch:
            trees = []
            for number, (change, side) in enumerate(ends):
                trees.append(Path(scratch, str(number)))
                trees[-1].mkdir()
                source.export(change, side, trees[-1])
            return self.environments.lock(trees, extra=self.requirements.get(source.repo, ()))

    def environment(self, change: Change) -> Environment:
        """The environment of a change; raises BuildError with the reason why there is none."""
        built = self._built.get(change.repo) or BuildError(f"no environment was prepared for {change.repo}")
        if isinstance(built, BuildError):
            raise built
        return built

    def locks(self) -> Mapping[str, str]:
        """The locks of the environments in use, by their ids."""
        return {built.lock_id: built.lock for built in self._built.values() if isinstance(built, Environment)}

    def remarks(self, source: Source) -> list[str]:
        """What is worth knowing of a source's environment: test requirements that could not be had."""
        built = self._built.get(source.repo)
        dropped = built.dropped if isinstance(built, Environment) else ()
        return [f"the test requirement {line!r} cannot be had and was left out" for line in dropped]

    def settings_id(self, change: Change) -> str:
        """A hash of everything that can move a verdict: the settings, the lock, and the code that reads sources and runs them."""
        built = self._built.get(change.repo)
        return content_id(self._settings(change.repo), built.lock_id if isinstance(built, Environment) else str(built))

    def _settings(self, repo: str) -> str:
        made_with = [self.environments.python_version, self.environments.as_of, self.environments.wheels_only, list(self.requirements.get(repo, ()))]
        return json.dumps(
            [code_id("oracle", "claimflip.source"), self.runs, self.processes, self.limits.collect, self.limits.test, self.limits.probe, *made_with]
        )

    def workspace(self, change: Change, parent: Path) -> TreeWorkspace:
        """A workspace over the parent's tree."""
        return self._workspace(change, parent, "parent", parent)

    def label(self, change: Change, claims: Sequence[Claim], parent: Path, child: Path) -> list[Label]:
        """One label a claim, in the claims' order; restores the parent's tests in ``child``."""
        try:
            environment = self.environment(change)
        except BuildError as error:
            return broken(claims, f"no environment: {error}", "")
        restore_tests(change, parent, child)
        modules: dict[str, set[str]] = defaultdict(set)  # a module that moved within the tree has two files
        before, after = SourceTree(parent), SourceTree(child)
        for tree in (before, after):
            for path in change.source_files:
                if path.endswith(".py") and (name := tree.module_name(path)) and not name.endswith("__main__"):
                    modules[name].add(path)
        sides: dict[Side, SideRuns] = {"parent": SideRuns(), "child": SideRuns()}
        trees: dict[Side, Path] = {"parent": parent, "child": child}
        with ThreadPoolExecutor(2 * self.processes) as pool:
            shares = [(side, number) for number in range(self.processes) for side in trees]
            running = [pool.submit(self._share, change, trees[side], side, parent, claims, number, sorted(modules)) for side, number in shares]
            for (side, _), future in zip(shares, running, strict=True):
                sides[side].add(future.result())
        failures = sides["child"].failures
        failures.update({module: confirmed(failure, lambda name: before.locate(name) is not None) for module, failure in failures.items()})
        for runs in sides.values():
            elsewhere = shadowed(modules, runs)
            if elsewhere:
                return broken(claims, elsewhere, environment.lock_id)
        return [label(claim, sides["parent"], sides["child"], range(self.runs), environment.lock_id) for claim in claims]

    def _share(self, change: Change, tree: Path, side: Side, parent: Path, claims: Sequence[Claim], number: int, modules: Sequence[str]) -> SideRuns:
        """One process's share of the runs, every ``processes``-th from ``number`` on, in a copy of the tree; the hash seed is the number plus one."""
        # no side's name in the path, and equal length: a test may look at where it stands
        copy = tree.parent / f"{2 * number + (side == 'child'):04}" / "tree"
        shutil.copytree(tree, copy, symlinks=True)  # tests write into their tree: no two processes share one
        space = self._workspace(change, copy, side, parent)
        files = sorted({claim.path for claim in claims})
        return space.run(files, [claim.nodeid for claim in claims], range(self.runs)[number :: self.processes], modules=modules, hash_seed=number + 1)

    def _workspace(self, change: Change, tree: Path, side: Side, parent: Path) -> TreeWorkspace:
        scratch = Path(tempfile.mkdtemp(dir=tree.parent, prefix=f"{tree.name}-scratch-"))
        return TreeWorkspace(tree, scratch, self.environment(change), side=side, parent=parent, limits=self.limits, slots=self._slots)
