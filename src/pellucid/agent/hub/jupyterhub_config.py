"""JupyterHub's settings file: ``jupyterhub --config`` this one, or ``pellucid hub``, which does that.

Here: reading the site file and handing it over.
Not here: what follows from it (configuration).

A site with a JupyterHub of its own takes these lines into its settings file.
"""

from pathlib import Path

from pellucid.agent.hub.configuration import configure
from pellucid.agent.hub.site import read_hub_site
from pellucid.settings import current

c = get_config()  # type: ignore[name-defined]  # noqa: F821
site_file = current().site_file
site = read_hub_site(site_file)
configure(c, site, site_file)
if site.more:
    load_subconfig(str(Path(site.more)))  # type: ignore[name-defined]  # noqa: F821
