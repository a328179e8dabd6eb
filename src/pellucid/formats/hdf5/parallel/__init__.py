"""Several processes and shared memory."""
