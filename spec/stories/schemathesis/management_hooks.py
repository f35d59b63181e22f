"""The same for what operators ask: much of it is about a service instance that there is."""

import os

import schemathesis

import hooks  # noqa: F401 its hooks apply here, too


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Replaces every other generated id by the id of an existing instance."""
    if isinstance(path_parameters, dict):
        generated = path_parameters.get("instance_id")
        if isinstance(generated, str) and len(generated) % 2:
            path_parameters["instance_id"] = os.environ["ODB_INSTANCE_ID"]
    return path_parameters
