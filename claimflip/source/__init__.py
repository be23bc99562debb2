"""Reading Python projects as text: which paths are tests, what is defined and imported where, and the diff that a model may see."""
