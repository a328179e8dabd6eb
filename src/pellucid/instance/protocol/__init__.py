"""What a page, a program and an instance say to each other, as typed data."""
