"""What this machine has, and what each missing thing costs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence

from claimflip import package_index


def report() -> str:
    """One line a thing: its name, what was found, and where it is missing what that costs."""
    rows = [
        ("system", platform.system(), "" if platform.system() == "Linux" else "only Linux is supported: process limits and isolation may not hold here"),
        ("python", f"{platform.python_version()} ({sys.executable})", ""),
        _tool("git", ["git", "--version"], "no mining at all: releases and worlds are kept in git too"),
        _uv(),
        _interpreters(),
        _tool("bubblewrap", ["bwrap", "--version"], "nothing yet, isolation by it is not built: with or without, do not mine code that you do not trust"),
        ("index", package_index.redacted(package_index.configured() or "the client's own default"), ""),
        _model(),
    ]
    return "".join(f"{name:<13}{'ok     ' if not cost else 'missing'} {found}{f'  → {cost}' if cost else ''}\n" for name, found, cost in rows)


def _tool(name: str, command: Sequence[str], cost: str) -> tuple[str, str, str]:
    if shutil.which(command[0]) is None:
        return name, "", cost
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return name, done.stdout.strip(), "" if done.returncode == 0 else cost


def _uv_bin() -> str | None:
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        return None


def _uv() -> tuple[str, str, str]:
    found = _uv_bin()
    cost = "no environments, so no labels: pip install uv"
    return _tool("uv", [found, "--version"], cost) if found else ("uv", "", cost)


def _interpreters() -> tuple[str, str, str]:
    cost = "changes that need another Python than this one cannot be labelled"
    found = _uv_bin()
    if found is None:
        return "interpreters", "", cost
    done = subprocess.run([found, "python", "list", "--only-installed", "--no-python-downloads"], capture_output=True, text=True, check=False)
    versions = sorted({line.split()[0].split("-")[1] for line in done.stdout.splitlines() if line.startswith("cpython-")})
    return "interpreters", ", ".join(versions), "" if len(versions) > 1 else cost


def _model() -> tuple[str, str, str]:
    keys = [name for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_BASE_URL") if os.environ.get(name)]
    return "model", ", ".join(keys), "" if keys else "no endpoint is configured: the model arms cannot be asked, the others can"
