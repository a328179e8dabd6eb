"""Images of volumes whose blocks are on many devices."""
