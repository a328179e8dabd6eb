"""Voxels one after the other in one file, behind a small header: npy, raw, NRRD, NIfTI, MetaImage, NetCDF."""
