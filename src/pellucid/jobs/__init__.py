"""A process here, a job on Slurm: started, watched, ended; both outlive whoever started them."""
