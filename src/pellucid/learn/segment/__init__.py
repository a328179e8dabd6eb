"""Training networks that label the voxels of a volume, or find the boundaries between objects."""
