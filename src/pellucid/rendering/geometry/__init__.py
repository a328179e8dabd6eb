"""Points and meshes: in memory, in files, and surfaces taken out of volumes."""
