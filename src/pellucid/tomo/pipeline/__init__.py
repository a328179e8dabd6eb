"""Plan, memory, slabs, previews, live slices, and reconstruct()."""
