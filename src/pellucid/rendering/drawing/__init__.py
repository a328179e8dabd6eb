"""From Scene to device frames: one device, several devices, refinement, light."""
