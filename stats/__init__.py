"""What the predictions mean: metrics, intervals, paired tests, tables, figures."""
