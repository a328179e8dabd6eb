"""The roles of Workers.

Here: Role; SERVICES, the service of each; how long each may be silent.
Not here: one Worker of each role (pool).
"""

from typing import Literal

from pellucid.workers.process import Deadlines

Role = Literal["render", "compute", "user_code", "blocks"]
"""render: draws and reads. compute: networks and other work that takes long. user_code: what users wrote. blocks: the
child of a Device Worker (cluster)."""
RoleBesideRender = Literal["compute", "user_code"]

SERVICES: dict[RoleBesideRender, str] = {
    "compute": "pellucid.workers.compute.service:ComputeService",
    "user_code": "pellucid.workers.user_code.service:UserCodeService",
}
DEADLINES: dict[RoleBesideRender, Deadlines] = {
    # Loading a large network, or importing its library, may keep every thread of a process waiting.
    "compute": Deadlines(silence=60.0),
    "user_code": Deadlines(silence=60.0, computing=60.0),
}
