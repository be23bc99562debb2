"""The published prompts, word for word.

Source: "Impact Is Not Invalidation: Ask About the Claim, Not the Diff", arXiv 2609.25130, Appendix A. Each file is the whole system prompt of one arm;
a test holds its bytes. Another wording is another instrument, and gets a file and an arm of its own.
"""
