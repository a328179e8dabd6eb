"""TIFF: stacks and folders of slices."""
