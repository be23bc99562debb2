"""Running git so that the answer depends on the repository alone: no user configuration, hooks, filters, prompts or network."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from claimflip.errors import SourceError

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SETTINGS = {
    "advice.detachedHead": "false",
    "attr.tree": _EMPTY_TREE,  # a newer git would read the attributes of HEAD in a bare repository
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "diff.interHunkContext": "0",
    "diff.suppressBlankEmpty": "false",
    "gc.auto": "0",
    "log.showSignature": "false",
    "safe.directory": "*",
}
_SEALED = {
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch missing blobs behind our back
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
# A clone goes out to the user's network, so the user's proxies, keys and certificates hold for it alone.
_CONNECTING = ("GIT_ASKPASS", "GIT_HTTP", "GIT_PROXY", "GIT_SSH", "GIT_SSL")


def command(*arguments: str, git_dir: Path | None = None) -> list[str]:
    """The full command line of one git call; ``git_dir`` makes it a call on that repository, which is treated as bare."""
    settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
    where = [] if git_dir is None else ["--bare", f"--git-dir={git_dir}"]
    return ["git", "--no-pager", *settings, *where, *arguments]


def environment(*, network: bool = False) -> dict[str, str]:
    """The caller's environment without its ``GIT_*`` variables; ``network`` keeps the few that a connection needs, and the user's configuration."""
    kept = _CONNECTING if network else ()
    found = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key.startswith(kept or ("\0",))}
    return {**found, **({} if network else _SEALED), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def run(arguments: Sequence[str], *, given: bytes = b"", network: bool = False, extra: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command line from ``command`` to its end, output captured; the exit code is the caller's to judge. Raises SourceError without git."""
    try:
        return subprocess.run(arguments, input=given, capture_output=True, env={**environment(network=network), **(extra or {})}, check=False)
    except FileNotFoundError:
        raise SourceError("git is not on the PATH: install it ('claimflip doctor' lists what is needed)") from None


def start(arguments: Sequence[str], *, stdin: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start a command line from ``command`` with its output on a pipe. Raises SourceError without git."""
    try:
        return subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    except FileNotFoundError:
        raise SourceError("git is not on the PATH: install it ('claimflip doctor' lists what is needed)") from None


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """The line of standard error in which git says what is wrong, for an error message."""
    lines = done.stderr.decode(errors="backslashreplace").strip().splitlines() or [f"git ended with {done.returncode}"]
    return next((line for line in lines if line.startswith("fatal: ")), lines[-1]).removeprefix("fatal: ")
