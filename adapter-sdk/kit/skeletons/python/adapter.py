#!/usr/bin/env python3
"""Service adapter that deploys @NAME@: a server with its own password for each service instance."""

import json
import re
import sys
import traceback

VERSION = "@NAME@ 0.1.0"
GROUP = "server"
JOB = "@NAME@-server"
PASSWORD = "((password))"

# The parameters of an order. Plans have properties of the same names, which are the defaults.
PARAMETERS = {
    "max_clients": {
        "description": "The maximum number of connected clients",
        "type": "integer",
        "minimum": 1,
        "maximum": 10000,
    },
}


class UserError(Exception):
    """An error that the user can fix."""


class OperatorError(Exception):
    """An error that only the operator can fix. Its text is logged, so it must not contain secrets."""


def generate_manifest(call):
    deployment = json.loads(call["service_deployment"])
    plan = json.loads(call["plan"])
    properties = plan.get("properties") or {}
    parameters = parameters_of(call)
    check(parameters, PARAMETERS, "parameter", UserError)
    check(properties, PARAMETERS, "plan property", OperatorError)
    if any((plan.get("lifecycle_errands") or {}).values()):
        raise OperatorError("the plan has lifecycle errands, which this adapter does not support")
    # No later request repeats a parameter, so the deployed manifest has the user's earlier choice.
    max_clients = first(
        parameters.get("max_clients"),
        deployed_number(call.get("previous_manifest"), "max_clients"),
        properties.get("max_clients"),
        100,
    )
    job = {
        "name": JOB,
        "release": release_of(JOB, deployment["releases"]),
        "properties": {"max_clients": max_clients, "password": PASSWORD},
    }
    stemcell = deployment["stemcells"][0]
    manifest = {
        "name": deployment["deployment_name"],
        "releases": [{key: release[key] for key in ("name", "version")} for release in deployment["releases"]],
        "stemcells": [
            {"alias": "default", "os": stemcell["stemcell_os"], "version": stemcell["stemcell_version"]}
        ],
        "instance_groups": [{**instance_group(plan), "stemcell": "default", "jobs": [job]}],
        # The Director generates the password; only applications receive it.
        "variables": [{"name": "password", "type": "password"}],
        "update": plan.get("update")
        or {
            "canaries": 1,
            "max_in_flight": 1,
            "canary_watch_time": "1000-60000",
            "update_watch_time": "1000-60000",
        },
    }
    # JSON is YAML, too.
    return {"manifest": json.dumps(manifest, indent=2)}


def dashboard_url(call):
    # Replace the address by that of a dashboard, or remove this subcommand.
    return {"dashboard_url": "https://@NAME@.example.org/" + call["instance_id"]}


def create_binding(call):
    check(parameters_of(call), {}, "parameter", UserError)
    addresses = json.loads(call["bosh_vms"]).get(GROUP)
    secrets = json.loads(call.get("secrets") or "null") or {}
    if not addresses:
        raise OperatorError("there is no VM of instance group " + GROUP)
    if PASSWORD not in secrets:
        raise OperatorError("the broker sent no password; it needs `enable_secure_manifests: true`")
    return {"credentials": {"host": addresses[0], "port": 6379, "password": secrets[PASSWORD]}}


def delete_binding(_call):
    # All bindings share the password of the instance, so nothing is deleted.
    return None


def generate_plan_schemas(_call):
    def accepts(properties):
        schema = {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
        return {"parameters": schema}

    return {
        "service_instance": {"create": accepts(PARAMETERS), "update": accepts(PARAMETERS)},
        "service_binding": {"create": accepts({})},
    }


SUBCOMMANDS = {
    "generate-manifest": generate_manifest,
    "dashboard-url": dashboard_url,
    "create-binding": create_binding,
    "delete-binding": delete_binding,
    "generate-plan-schemas": generate_plan_schemas,
}


def parameters_of(call):
    request = json.loads(call.get("request_parameters") or "null") or {}
    return request.get("parameters") or {}


def check(values, schemas, kind, error):
    """Raises the error for the first unknown or invalid value. Its text has no values, which may be secrets."""
    for name, value in values.items():
        schema = schemas.get(name)
        if schema is None:
            raise error(f"{kind} `{name}` is unknown; available: {', '.join(schemas) or 'none'}")
        # A boolean is an `int`, too.
        if type(value) is not int or not schema["minimum"] <= value <= schema["maximum"]:
            raise error(f"{kind} `{name}` must be an integer from {schema['minimum']} to {schema['maximum']}")


def first(*values):
    return next(value for value in values if value is not None)


def deployed_number(manifest, name):
    """The number of that name in a manifest. This finds it in JSON and in other YAML, for which Python has no reader."""
    found = re.search(rf'\b{re.escape(name)}"?: *([0-9]+)', manifest or "")
    return int(found.group(1)) if found else None


def instance_group(plan):
    for group in plan["instance_groups"]:
        if group["name"] == GROUP:
            networks = [{"name": network} for network in group["networks"]]
            return {**{key: value for key, value in group.items() if value}, "networks": networks}
    raise OperatorError(f"the plan has no instance group `{GROUP}`")


def release_of(job, releases):
    names = [release["name"] for release in releases if job in release["jobs"]]
    if len(names) != 1:
        raise OperatorError(f"job `{job}` must be in one release, it is in {len(names)}")
    return names[0]


def main():
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
        return 0
    document = sys.stdin.buffer.read()
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    try:
        if name not in SUBCOMMANDS:
            raise OperatorError("expected one argument, a subcommand: " + ", ".join(SUBCOMMANDS))
        answer = SUBCOMMANDS[name](json.loads(document)[name.replace("-", "_")])
    except UserError as error:
        print(error)
        print(error, file=sys.stderr)
        return 1
    except OperatorError as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        # The text of another error may have values of the request, and these may be secrets.
        traceback.print_tb(error.__traceback__)
        print(type(error).__name__, file=sys.stderr)
        return 1
    if answer is not None:
        print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
