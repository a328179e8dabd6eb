"""JupyterHub's settings file: ``jupyterhub --config`` this one, or ``pellucid hub``, which does that.

Here: reading the site file and handing it over.
Not here: what follows from it (jupyterhub_settings).

A site with a JupyterHub of its own takes the last lines into its settings file.
"""

from pellucid.agent.hub.jupyterhub_settings import configure
from pellucid.agent.hub.site_config import read_hub_site
from pellucid.settings import current

if "get_config" in globals():  # Only JupyterHub defines these names in its settings file.
    site_file = current().site_file
    site = read_hub_site(site_file)
    configure(globals()["get_config"](), site, site_file)
    if site.extra_config:
        globals()["load_subconfig"](site.extra_config)
