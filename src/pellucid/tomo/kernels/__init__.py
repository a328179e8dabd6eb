"""What runs on the device: filtering, back projection and projection, gridding. Written in Warp's language."""
