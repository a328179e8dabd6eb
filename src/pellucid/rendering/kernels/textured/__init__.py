"""What is written anew for a volume that is one hardware texture, where that is much faster."""
