"""What programs touch: viewers started, attached to, fed and steered from Python and from notebooks."""
