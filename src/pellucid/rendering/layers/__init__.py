"""Points, meshes, slices and labels on a device."""
