"""The page that a run ends in."""

from stats.report.html import HtmlReport

__all__ = ["HtmlReport"]
