"""Selecting the questions that arms are asked. Nothing here runs anything."""
