"""Viewers and tasks of one user: started here or on Slurm, recorded, and reached through one address."""
