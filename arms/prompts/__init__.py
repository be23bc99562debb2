"""The published prompts, word for word."""
