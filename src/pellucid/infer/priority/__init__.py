"""Networks for a viewer: what the user looks at is computed first."""
