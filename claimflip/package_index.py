"""The package index that the user has configured: one answer for our own downloads and for uv's.

No registry's address stands in this project: without a configured one, each client takes its own default.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from urllib.parse import urlsplit, urlunsplit

SETTINGS = "UV_DEFAULT_INDEX, PIP_INDEX_URL or pip's index-url"
_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def configured() -> str | None:
    """The index's URL from uv's variables, pip's variable, then pip's configuration files; ``None`` means the client's own default.

    The URL may carry credentials: print or record ``redacted(url)`` only.
    """
    for variable in _VARIABLES:
        # uv also takes NAME=URL
        name, equals, url = os.environ.get(variable, "").strip().partition("=")
        if equals and "/" not in name:
            return url
        if name:
            return name + equals + url
    return _of_pip(os.environ.get("PIP_CONFIG_FILE"))


def uv_environment() -> dict[str, str]:
    """The caller's environment for a call of uv: with the index that pip is configured for, where uv has none of its own; no virtual environment of ours."""
    env = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}
    if index := configured():
        env.setdefault("UV_DEFAULT_INDEX", index)
    return env


@functools.cache
def _of_pip(config_file: str | None) -> str | None:  # noqa: ARG001 - the key of the cache: pip itself reads the variable
    commands = [[sys.executable, "-m", "pip"], *([found] for name in ("pip", "pip3") if (found := shutil.which(name)))]
    for command in commands:
        try:
            listed = subprocess.run([*command, "config", "list"], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if listed.returncode == 0:
            settings = dict(line.partition("=")[::2] for line in listed.stdout.splitlines())
            found_url = settings.get("install.index-url") or settings.get("global.index-url")
            return found_url.strip("'\"") if found_url else None
    return None


def redacted(url: str) -> str:
    """The URL with any user name and password replaced, fit for messages and records."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]))
