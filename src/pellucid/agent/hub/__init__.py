"""The agent behind JupyterHub, and JupyterHub as the site wants it."""
