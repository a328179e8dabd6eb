"""The engine on Parsl: blocks on the workers of a site, which may be this machine, a cluster or a cloud."""
