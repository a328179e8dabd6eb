"""One port for the agent and all viewers."""
