"""The command, and ``python -m neuronport``: an interrupt is answered from here on."""

import sys


def main() -> None:
    """Run the command line, whose modules take most of the time until it listens."""
    try:
        from neuronport.cli import main as run

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("neuronport: interrupted\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
