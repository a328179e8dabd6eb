"""The agent behind JupyterHub, and JupyterHub as the site configures it."""
