"""The settings that the Hub passes to an agent that it starts.

Here: HubEnvironment, read from the environment.
Not here: asking the Hub (users), admitting users (auth, oauth).
"""

import json
import os
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pellucid.agent.hub.sockets import socket_path
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput

SCOPES = "JUPYTERHUB_OAUTH_ACCESS_SCOPES"
SECRETS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")


@dataclass(frozen=True)
class HubEnvironment:
    """socket: where the Hub's proxy expects the agent. prefix: the agent's path, without a slash at its end, as it is
    once decoded. api_url: the Hub's own, from here; hub_url: where a browser finds the Hub. api_token: identifies
    the agent to the Hub. access: users with one of these scopes are allowed.
    """

    socket: Path
    prefix: str
    api_url: str
    hub_url: str
    client_id: str
    callback: str
    activity_url: str
    access: tuple[str, ...]
    api_token: str = field(repr=False)

    @classmethod
    def from_variables(cls, environment: MutableMapping[str, str]) -> "HubEnvironment":
        """From the environment, out of which the secrets are taken: nothing that is started from here has them."""
        try:
            hub = environment.get("JUPYTERHUB_HOST", "") + environment["JUPYTERHUB_BASE_URL"] + "hub"
            found = cls(
                socket_path(environment["JUPYTERHUB_SERVICE_URL"]),
                unquote(environment["JUPYTERHUB_SERVICE_PREFIX"]).rstrip("/"),
                environment["JUPYTERHUB_API_URL"].rstrip("/"),
                hub,
                environment["JUPYTERHUB_CLIENT_ID"],
                environment["JUPYTERHUB_OAUTH_CALLBACK_URL"],
                environment["JUPYTERHUB_ACTIVITY_URL"],
                from_json(tuple[str, ...], json.loads(environment[SCOPES]), SCOPES),
                environment["JUPYTERHUB_API_TOKEN"],
            )
        except (KeyError, ValueError) as error:
            why = f"the variable {error} is missing" if isinstance(error, KeyError) else str(error)
            what = f"The agent was not started by JupyterHub: {why}."
            raise InvalidInput(what, remedy="Run pellucid hub and log in there.") from error
        for name in SECRETS:
            environment.pop(name, None)
        return found

    @classmethod
    def from_environment(cls) -> "HubEnvironment":
        return cls.from_variables(os.environ)
