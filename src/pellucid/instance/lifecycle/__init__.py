"""Idle timeout, signals, records of running viewers."""
