"""The figures that the paper prints."""
