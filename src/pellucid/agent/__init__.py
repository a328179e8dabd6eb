"""Instances and tasks for one person: started here or on Slurm, kept on record, reached through one address."""
