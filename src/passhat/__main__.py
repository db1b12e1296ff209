"""``python -m passhat``."""

from passhat.cli import main

if __name__ == "__main__":
    main()
