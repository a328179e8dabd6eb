"""What every image must look like, in plain NumPy: the definition that kernels are tested against."""
