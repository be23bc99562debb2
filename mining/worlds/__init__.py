"""Generated repositories whose truth is known."""
