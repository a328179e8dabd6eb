"""Reports of trainings: numbers as JSON, images as PNG."""
