"""The Device Worker: the process that owns the blocks of one device."""
