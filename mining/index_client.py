"""The releases that the user's package index lists, and their source archives, each downloaded once and checked against the index's hash."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import requests
from packaging.version import InvalidVersion, Version
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DigestMismatchError,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedRepoVersionError,
)
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from claimflip import package_index
from claimflip.errors import IndexUnreachable, SourceError
from mining.archives import SUFFIXES
from mining.dates import utc

TIMEOUT = 60.0  # seconds without an answer
PARALLEL = 4
LEFT_OUT = ("pre-release", "yanked")  # by rule, as against archives that ought to be usable and are not
_GONE = (403, 404, 410)
_SHA256 = re.compile(r"^[0-9a-f]{64}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release as the index lists it: its source archive, that archive's upload time, and the ``trouble`` that keeps it from being used."""

    version: Version
    uploaded: datetime | None
    file: DistributionPackage | None
    trouble: str = ""

    @property
    def sha256(self) -> str:
        """The archive's hash as the index gives it, empty without one."""
        return self.file.digests.get("sha256", "") if self.file else ""


class IndexClient:
    """One project's page and files on the index that the user has configured.

    A project that it does not have raises SourceError; an index that cannot be read, IndexUnreachable.
    """

    def __init__(self, project: str) -> None:
        self.project = project

    @contextmanager
    def _connected(self) -> Iterator[PyPISimple]:
        session = requests.Session()
        retries = Retry(total=3, connect=1, backoff_factor=0.3, status_forcelist=(429, 500, 502, 503, 504), raise_on_status=False)
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=retries))
        try:
            with PyPISimple(package_index.configured() or PYPI_SIMPLE_ENDPOINT, session=session) as client:
                yield client
        except NoSuchProjectError:
            raise SourceError(f"the package index has no project {self.project!r}: check the name, or name another index in {package_index.SETTINGS}") from None
        except (requests.RequestException, UnsupportedRepoVersionError, ValueError) as error:  # ValueError: a page that is no index page
            response = error.response if isinstance(error, requests.RequestException) else None
            # never the error's own text: it repeats the address, and with it a password
            reason = type(error).__name__ if response is None else f"HTTP {response.status_code}"
            raise IndexUnreachable(
                f"the package index cannot be read for {self.project!r} ({reason}): check the network, or name another index in {package_index.SETTINGS}"
            ) from None

    def releases(self) -> list[Release]:
        """Every release by version; a file whose version is none is no release."""
        with self._connected() as client:
            page = client.get_project_page(self.project, timeout=TIMEOUT)
        by_version: dict[Version, list[DistributionPackage]] = {}
        for file in page.packages:
            with suppress(InvalidVersion):
                by_version.setdefault(Version(file.version or ""), []).append(file)
        return [_release(version, files) for version, files in sorted(by_version.items())]

    def download(self, releases: Sequence[Release], folder: Path) -> list[Path | str]:
        """For each release the archive's path in ``folder`` or, where it is broken at the index, the reason; what is there already is not fetched again."""
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(PARALLEL) as pool:
            return list(pool.map(lambda release: self._downloaded(release, folder), releases))

    def _downloaded(self, release: Release, folder: Path) -> Path | str:
        assert release.file is not None
        # the index's own file name is a stranger's text, so it is no path of ours
        kept = folder / f"{release.version}-{release.sha256[:16]}{_suffix(release.file.filename)}"
        if kept.exists() and _sha256(kept) == release.sha256:
            return kept
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download.") as scratch, self._connected() as client:
            part = Path(scratch) / "part"
            try:
                client.download_package(release.file, part, timeout=TIMEOUT)
            except DigestMismatchError:
                return "the archive does not have the hash that the index gives"
            except requests.HTTPError as error:
                if error.response is None or error.response.status_code not in _GONE:
                    raise
                return f"the archive cannot be downloaded (HTTP {error.response.status_code})"
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(kept)
        return kept


def _release(version: Version, files: Sequence[DistributionPackage]) -> Release:
    offered = [file for file in files if file.package_type == "sdist" and not file.is_yanked and _suffix(file.filename)]
    chosen = min(offered, key=lambda file: (SUFFIXES.index(_suffix(file.filename)), file.filename), default=None)
    uploaded = chosen.upload_time if chosen else min((file.upload_time for file in files if file.upload_time), default=None)
    if version.is_prerelease:
        trouble = "pre-release"
    elif all(file.is_yanked for file in files):
        trouble = "yanked"
    elif chosen is None:
        trouble = "no source archive"
    elif uploaded is None:
        trouble = "the index gives no upload time"
    elif not _SHA256.match(chosen.digests.get("sha256", "")):
        trouble = "the index gives no SHA-256"
    else:
        trouble = ""
    return Release(version=version, uploaded=utc("upload-time", uploaded), file=chosen, trouble=trouble)


def _suffix(filename: str) -> str:
    return next((suffix for suffix in SUFFIXES if filename.endswith(suffix)), "")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
