"""A3, file anchoring: a claim is anchored to the modules that its test imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from claimflip.protocols import ArmInput
from claimflip.records import Claim, Prediction
from claimflip.source.definitions import Definitions, Resolved
from claimflip.source.fixtures import Fixtures, conftests, parse_function
from claimflip.source.modules import Import, SourceTree
from claimflip.source.paths import is_test_path
from claimflip.source.references import used_names


class FileAnchoring:
    """Fires if the claim's test module or function imports a module that the diff touched.

    The test module stands for the test files that come with it: its ``conftest.py`` files and, from one to the next, the helper modules of the test
    folders that they import. Imports inside functions count for the claim's own function and its fixtures. What a source module imports is not followed,
    except where it hands a name on: with ``follow_reexports``, ``from pkg import name`` imports ``pkg`` and the module that ``pkg`` has ``name`` from.
    A package on the way to a module (``pkg`` in ``import pkg.mod``) is not imported by name and does not count.
    """

    def __init__(self, name: str = "a3", follow_reexports: bool = True) -> None:
        self.name = name
        self.follow_reexports = follow_reexports

    def predict(self, given: ArmInput) -> Iterator[Prediction]:
        """One verdict a question, from the parent's tree and the paths that the diff touched."""
        imports = _TestImports(Definitions(SourceTree(given.parent)), self.follow_reexports)
        touched = set(given.change.source_files)
        for question in given.questions:
            claim = given.claims[question.claim_id]
            hit = sorted(imports.of_claim(claim) & touched)
            note = imports.definitions.tree.read(claim.path).note
            yield Prediction(
                question_id=question.question_id,
                arm=self.name,
                verdict="flipped" if hit else "held",
                why=f"tests import {', '.join(hit[:3])}, which the diff touched" if hit else "tests import nothing that the diff touched",
                evidence=f"{claim.path} cannot be parsed ({note})" if note else "",
            )


class _TestImports:
    """The source files that test code imports, in one tree."""

    def __init__(self, definitions: Definitions, follow_reexports: bool) -> None:
        self.definitions = definitions
        self.fixtures = Fixtures(definitions)
        self.follow_reexports = follow_reexports
        self._closures: dict[str, frozenset[str]] = {}

    def of_claim(self, claim: Claim) -> frozenset[str]:
        """Imported files of the claim's test module, the module that its text stands in, its own function and its fixtures."""
        defined_in = claim.defined_in.partition("::")[0]
        found = self._closure(claim.path) | self._closure(defined_in)
        function = parse_function(claim.text)
        nodes: list[tuple[str, ast.AST]] = [(defined_in, function)] if function is not None else []
        nodes += [(fixture.definition.path, fixture.node) for fixture in self.fixtures.of_claim(claim)]
        for path, node in nodes:
            for imported in self.definitions.tree.imports_in(path, node):
                files = self._imported(path, imported, local=True)
                found |= {file for file in files if not is_test_path(file)}.union(*(self._closure(file) for file in files if is_test_path(file)))
        return found

    def _closure(self, module: str) -> frozenset[str]:
        if module not in self._closures:
            source, tests, waiting = set(), set(), [module, *conftests(self.definitions, module)]
            while waiting:
                path = waiting.pop()
                if path in tests or path not in self.definitions.tree.files:
                    continue
                tests.add(path)
                files = self._of_file(path)
                source |= {file for file in files if not is_test_path(file)}
                waiting += [file for file in files if is_test_path(file)]
            self._closures[module] = frozenset(source)
        return self._closures[module]

    def _of_file(self, path: str) -> set[str]:
        files: set[str] = set()
        for imported in self.definitions.tree.imports(path):
            files.update(self._imported(path, imported))
        if self.follow_reexports:
            # "import pkg" or a star hands on what is then used of it: "pkg.name" hangs on pkg and on where pkg has it from
            for name in used_names(self.definitions.tree.read(path).tree):
                resolved = self.definitions.resolve(path, name)
                files.update(_handed_on(resolved))
        return files - {path}

    def _imported(self, path: str, imported: Import, *, local: bool = False) -> Sequence[str]:
        location = self.definitions.tree.locate(imported.module, path)
        if location is None:
            return ()
        named = [location] if not location.endswith("/") else []
        if not imported.name or imported.name == "*":
            return named
        resolved = self.definitions.lookup(f"{imported.module}.{imported.name}", path) if local else self.definitions.resolve(path, imported.bound)
        if resolved.module and self.definitions.tree.submodule(location, imported.name) == resolved.module:
            return [resolved.module] if not resolved.module.endswith("/") else []
        return [*named, *_handed_on(resolved)] if self.follow_reexports else named


def _handed_on(resolved: Resolved) -> tuple[str, ...]:
    return resolved.via if resolved.found else ()
