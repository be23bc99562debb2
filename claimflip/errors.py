"""The mistakes a user can make or meet, each told in one line that names the thing and the way out."""

from __future__ import annotations


class ClaimflipError(Exception):
    """Base of every error meant for a person: the command line prints its text alone and exits with 2."""


class ConfigError(ClaimflipError):
    """A setting or a command line that cannot be used."""


class CorpusError(ClaimflipError):
    """A corpus folder that is missing, unreadable, unwritable, locked or of another format."""


class SourceError(ClaimflipError):
    """A repository, package index or world from which no changes can be had."""


class IndexUnreachable(SourceError):
    """The package index itself cannot be read: no source that needs it can go on."""


class LeakError(ClaimflipError):
    """A line of a test file stands in the diff that a model would be shown."""


class BuildError(ClaimflipError):
    """An environment that cannot be built; the changes that need it are recorded as broken and the others go on."""
