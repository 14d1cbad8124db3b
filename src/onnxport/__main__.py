"""The `onnxport` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    from .cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
