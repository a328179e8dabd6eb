"""Folders of chunks: Zarr, N5, neuroglancer precomputed; local or on S3."""
