"""``python -m neuronport``."""

from neuronport.cli import main

if __name__ == "__main__":
    main()
