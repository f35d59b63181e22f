"""Most requests name what the broker offers: what it does not offer is refused at the door."""

import os

import schemathesis

OFFERED = {
    "service_id": os.environ["ODB_SERVICE_ID"],
    "plan_id": os.environ["ODB_PLAN_ID"],
}


def offered(members):
    """Leaves every fourth id as it was drawn, and all that is no id at all."""
    if not isinstance(members, dict):
        return members
    for name, offer in OFFERED.items():
        drawn = members.get(name)
        if isinstance(drawn, str) and len(drawn) % 4:
            members[name] = offer
    return members


@schemathesis.hook
def map_body(context, body):
    return offered(body)


@schemathesis.hook
def map_query(context, query):
    return offered(query)
