"""Conversion between formats: any reader to any writer, block by block, with coarser levels on request."""
