"""Solvers that iterate over blocks on Device Workers."""
