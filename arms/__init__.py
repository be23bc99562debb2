"""Who guesses: one file an arm or an arm family."""
