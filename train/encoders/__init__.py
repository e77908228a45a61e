"""Encoders under training: vectors forward, a gradient back, a step of Adam."""
