"""Validates bills of materials with the JSON schema of CycloneDX: `bills.py FILE…`."""

import importlib.util
import json
import pathlib
import sys

import jsonschema_rs

# Only its files are used. Its code needs further packages.
PACKAGE = importlib.util.find_spec("cyclonedx").submodule_search_locations[0]
SCHEMAS = pathlib.Path(PACKAGE, "schema", "_res")
ADDRESS = "http://cyclonedx.org/schema/"


def read(path):
    return json.loads(pathlib.Path(path).read_text())


registry = jsonschema_rs.Registry(
    [(ADDRESS + name, read(SCHEMAS / name)) for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")]
)
validator = jsonschema_rs.validator_for(read(SCHEMAS / "bom-1.6.SNAPSHOT.schema.json"), registry=registry)
faults = 0
for path in sys.argv[1:]:
    bill = read(path)
    if bill["specVersion"] != "1.6":
        sys.exit(f"error: {path}: version {bill['specVersion']} instead of 1.6")
    for error in validator.iter_errors(bill):
        faults += 1
        print(f"error: {path}: {error.instance_path}: {error.message}", file=sys.stderr)
    print(f"{path}: {len(bill['components'])} components")
sys.exit(min(faults, 1))
