"""A service adapter without a fault, in a language without an SDK.

The executables beside this file take it and break one thing each; `faultless` breaks nothing. The manifest is
written as JSON, which every reader of YAML reads.
"""

import json
import os
import sys
import zlib

SECTIONS = {
    "generate-manifest": "generate_manifest",
    "create-binding": "create_binding",
    "delete-binding": "delete_binding",
    "dashboard-url": "dashboard_url",
    "generate-plan-schemas": "generate_plan_schemas",
}

# What follows the subcommand in the form of old brokers.
ARGUMENTS = {
    "generate-manifest": ["service_deployment", "plan", "request_parameters", "previous_manifest", "previous_plan"],
    "create-binding": ["binding_id", "bosh_vms", "manifest", "request_parameters"],
    "delete-binding": ["binding_id", "bosh_vms", "manifest", "request_parameters"],
    "dashboard-url": ["instance_id", "plan", "manifest"],
    "generate-plan-schemas": ["flag", "plan"],
}

# Members that are texts and not JSON in a text.
PLAIN = ["binding_id", "instance_id", "flag"]

GROUPS = {"cache": ["cache-server"], "smoke": ["smoke-tests"]}


class UserError(Exception):
    """Something that the platform user can fix."""


def log(text):
    print(text, file=sys.stderr)


class Adapter:
    def main(self):
        arguments = sys.argv[1:]
        subcommand = arguments[0] if arguments else ""
        if subcommand not in SECTIONS:
            log("the subcommands are: " + ", ".join(sorted(SECTIONS)))
            return 1
        try:
            return self.answer(subcommand, self.question(subcommand, arguments[1:]), bool(arguments[1:]))
        except UserError as error:
            return self.refuse(error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            log("the input breaks the protocol: " + type(error).__name__)
            return 1

    def refuse(self, error):
        sys.stdout.write(str(error))
        log(str(error))
        return 1

    def question(self, subcommand, rest):
        if rest:
            texts = dict(zip(ARGUMENTS[subcommand], rest))
        else:
            texts = self.section(subcommand, json.loads(sys.stdin.read()))
        return {name: self.part(name, text) for name, text in texts.items()}

    def section(self, subcommand, document):
        return document[SECTIONS[subcommand]]

    def part(self, name, text):
        if not isinstance(text, str):
            raise TypeError(name)
        if name in PLAIN:
            return text
        return json.loads(text) if text else None

    def answer(self, subcommand, asked, in_arguments):
        method = getattr(self, SECTIONS[subcommand])
        answer = method(asked)
        if in_arguments and subcommand == "generate-manifest":
            answer = json.loads(answer["manifest"])
        if answer is not None:
            print(json.dumps(answer))
        return 0

    # The subcommands.

    def generate_manifest(self, asked):
        parameters = self.parameters((asked["request_parameters"] or {}).get("parameters") or {})
        entries = {}
        manifest = self.manifest(asked, self.properties(asked, parameters, entries))
        return {"manifest": json.dumps(manifest), "secrets": entries, "configs": None}

    def create_binding(self, asked):
        reference = job_properties(asked["manifest"])["password"]
        password = (asked.get("secrets") or {}).get(reference)
        return {"credentials": {"hosts": asked["bosh_vms"]["cache"], "password": password}}

    def delete_binding(self, asked):
        asked["binding_id"]

    def dashboard_url(self, asked):
        return {"dashboard_url": "https://cache.example.com/" + asked["instance_id"]}

    def generate_plan_schemas(self, asked):
        asked["plan"]["instance_groups"]
        order, bind = schema(self.schema_properties()), schema({})
        return {
            "service_instance": {"create": {"parameters": order}, "update": {"parameters": order}},
            "service_binding": {"create": {"parameters": bind}},
        }

    # What they are made of.

    def schema_properties(self):
        return {"maxmemory": {"type": "integer", "minimum": 1}, "password": {"type": "string", "minLength": 8}}

    def parameters(self, parameters):
        unknown = sorted(set(parameters) - {"maxmemory", "password"})
        if unknown:
            raise UserError("unknown parameters: " + ", ".join(unknown))
        memory = parameters.get("maxmemory", 1)
        if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
            raise UserError("maxmemory must be a whole number of megabytes")
        password = parameters.get("password", "long enough")
        if not isinstance(password, str) or len(password) < 8:
            raise UserError("password must be a text of at least 8 characters")
        return parameters

    def properties(self, asked, parameters, entries):
        previous = job_properties(asked.get("previous_manifest"))
        return {
            "maxmemory": self.maxmemory(asked, parameters, previous),
            "password": self.password(asked, parameters, previous, entries),
        }

    def maxmemory(self, asked, parameters, previous):
        default = asked["plan"]["properties"].get("maxmemory", 64)
        return parameters.get("maxmemory", previous.get("maxmemory", default))

    def password(self, asked, parameters, previous, entries):
        if "password" in parameters:
            return self.new_secret(parameters["password"], entries)
        if "password" in previous:
            return previous["password"]
        return self.new_secret(random_password(), entries)

    def new_secret(self, value, entries):
        # A new value gets a new name, and the same value the same.
        name = "password-%08x" % zlib.crc32(value.encode())
        entries[name] = value
        return "((odb_secret:" + name + "))"

    def manifest(self, asked, properties):
        deployment, plan = asked["service_deployment"], asked["plan"]
        stemcell = deployment["stemcells"][0]
        groups = [self.group(group, deployment, properties) for group in plan["instance_groups"]]
        update = {"canaries": 1, "max_in_flight": 1, "canary_watch_time": "1000-9000", "update_watch_time": "1000-9000"}
        return {
            "name": deployment["deployment_name"],
            "releases": [{"name": r["name"], "version": r["version"]} for r in deployment["releases"]],
            "stemcells": [
                {"alias": "default", "os": stemcell["stemcell_os"], "version": stemcell["stemcell_version"]}
            ],
            "instance_groups": [group for group in groups if group],
            "update": plan.get("update") or update,
        }

    def group(self, group, deployment, properties):
        jobs = [{"name": job, "release": release_of(job, deployment)} for job in GROUPS[group["name"]]]
        if group["name"] == "cache":
            jobs[0]["properties"] = properties
        written = {
            "name": group["name"],
            "instances": group["instances"],
            "vm_type": group["vm_type"],
            "azs": group["azs"],
            "networks": [{"name": name} for name in group["networks"]],
            "stemcell": "default",
            "jobs": jobs,
        }
        if group.get("lifecycle"):
            written["lifecycle"] = group["lifecycle"]
        return written


def random_password():
    return os.urandom(12).hex()


def release_of(job, deployment):
    releases = [release["name"] for release in deployment["releases"] if job in release["jobs"]]
    if len(releases) != 1:
        raise ValueError(job)
    return releases[0]


def job_properties(manifest):
    groups = (manifest or {}).get("instance_groups", [])
    cache = [group for group in groups if group["name"] == "cache"]
    return cache[0]["jobs"][0]["properties"] if cache else {}


def schema(properties):
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def run(adapter):
    sys.exit(adapter().main())
