"""Networks that restore resolution, such as that of thick slices along z."""
