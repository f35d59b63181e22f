#!/usr/bin/env python3
"""Checks a Grafana dashboard by the types of Grafana's own library: whatever they do not know is an error.

  dashboard.py FILE
"""

import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def differences(written, read, place):
    if isinstance(written, dict) and isinstance(read, dict):
        for name, value in written.items():
            if name not in read:
                yield f"{place}/{name} is unknown to Grafana"
            else:
                yield from differences(value, read[name], f"{place}/{name}")
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for number, (one, other) in enumerate(zip(written, read)):
            yield from differences(one, other, f"{place}/{number}")
    elif written != read:
        yield f"{place} is {written!r}, which Grafana reads as {read!r}"


def main():
    plugins.register_default_plugins()
    with open(sys.argv[1], encoding="utf-8") as file:
        written = json.load(file)
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    found = list(differences(written, read, ""))
    for text in found:
        print(f"error: {sys.argv[1]}: {text}", file=sys.stderr)
    sys.exit(1 if found else 0)


main()
