"""One page: its socket, what its messages do, who has the controls."""
