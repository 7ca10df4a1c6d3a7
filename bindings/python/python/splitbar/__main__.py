"""`python -m splitbar ARGUMENTS`: the program `splitbar` with these arguments."""

import subprocess
import sys

from ._compile import program

if __name__ == "__main__":
    sys.exit(subprocess.run([program(), *sys.argv[1:]], check=False).returncode)
