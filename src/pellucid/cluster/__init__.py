"""Blocks on the devices of many machines: who owns them, what runs on them, how they are exchanged and drawn."""
