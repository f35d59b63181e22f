"""The same for what operators ask: much of it is about a service instance that there is."""

import os

import schemathesis

import hooks  # noqa: F401 its hooks apply here, too


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Puts the id of an instance that there is in the place of every other one that was drawn."""
    if isinstance(path_parameters, dict):
        drawn = path_parameters.get("instance_id")
        if isinstance(drawn, str) and len(drawn) % 2:
            path_parameters["instance_id"] = os.environ["ODB_INSTANCE_ID"]
    return path_parameters
