"""From boundaries between voxels to objects, in blocks."""
