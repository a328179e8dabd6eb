"""How good volumes are: against the truth, against each other, and by themselves."""
