"""Volume to volume: any reader to any writer, block by block, with coarser levels where they are wished."""
