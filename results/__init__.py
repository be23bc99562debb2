"""Released facts: the published figures are package data."""
