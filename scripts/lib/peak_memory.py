"""Prints the peak memory in KiB of a program that reads INPUT on stdin.

peak_memory.py INPUT PROGRAM [ARGUMENT…]
"""

import resource
import subprocess
import sys

with open(sys.argv[1], "rb") as question:
    subprocess.run(sys.argv[2:], stdin=question, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
