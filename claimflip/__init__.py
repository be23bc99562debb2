"""claimflip: an execution-grounded benchmark for claim invalidation.

``open_corpus(path)`` opens a corpus folder; everything else is the command ``claimflip``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "open_corpus"]

if TYPE_CHECKING:
    from claimflip.corpus import open_corpus


def __getattr__(name: str) -> Any:
    if name == "open_corpus":  # late: pandas and pyarrow would make every start slow
        from claimflip.corpus import open_corpus

        return open_corpus
    raise AttributeError(f"module 'claimflip' has no attribute {name!r}")
