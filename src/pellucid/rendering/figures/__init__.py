"""Images for a paper: a colour bar, files that say how large they are printed and what they show, slices in 16 bits."""
