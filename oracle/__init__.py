"""What is true: environments, runs and verdicts."""
