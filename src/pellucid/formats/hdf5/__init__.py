"""HDF5: any dataset of any file, chunks decoded on all cores; into shared memory by several processes."""
