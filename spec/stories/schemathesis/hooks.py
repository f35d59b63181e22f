"""Most requests name what the broker offers: what it does not offer is refused immediately."""

import os

import schemathesis

OFFERED = {
    "service_id": os.environ["ODB_SERVICE_ID"],
    "plan_id": os.environ["ODB_PLAN_ID"],
}


def offered(members):
    """Leaves every fourth generated id, and every value that is no id."""
    if not isinstance(members, dict):
        return members
    for name, offer in OFFERED.items():
        generated = members.get(name)
        if isinstance(generated, str) and len(generated) % 4:
            members[name] = offer
    return members


@schemathesis.hook
def map_body(context, body):
    return offered(body)


@schemathesis.hook
def map_query(context, query):
    return offered(query)
