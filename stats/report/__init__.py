"""The page that a run ends in."""

from stats.report.html import HtmlReport, arms_table_text

__all__ = ["HtmlReport", "arms_table_text"]
