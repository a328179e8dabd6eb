"""Counts to clean sinograms: flats, zingers, rings, phase."""
