"""Jobs as local processes or on Slurm: start, watch and stop them. They outlive the program that started them."""
