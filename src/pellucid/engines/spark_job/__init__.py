"""Spark on the nodes of a Slurm job, for as long as a program runs there."""
