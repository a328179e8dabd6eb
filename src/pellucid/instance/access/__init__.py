"""Who may do what: tokens, capabilities, folders that may be opened."""
