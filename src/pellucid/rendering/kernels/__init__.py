"""What runs on the device: marching through volumes, light, spheres, triangles. Written in Warp's language."""
