"""One reading of dates, whether a person, YAML or an index wrote them: without a time zone they mean UTC, and a day its first moment."""

from __future__ import annotations

from datetime import UTC, date, datetime

from claimflip.errors import ConfigError

Date = datetime | date | str


def utc(setting: str, given: Date | None) -> datetime | None:
    """The date, in ISO 8601 where it is text, as an aware datetime in UTC; None stays None. Raises ConfigError that names the setting."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise ConfigError(f"{setting}={given!r} is no date: write it as 2024-01-31") from None
    if given is None:
        return None
    if not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day)
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
