"""Where changes and claims come from."""
