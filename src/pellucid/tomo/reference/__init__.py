"""What every step means, in plain NumPy: the definitions that kernels are tested against."""
