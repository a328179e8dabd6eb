"""What a viewer shows, and how: camera, colours, layers, labels and measures."""
