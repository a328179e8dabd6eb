"""Neural fields: volumes stored as feature grids and a small decoder network (``.plf`` files)."""
