"""Facts, values, slices, previews."""
