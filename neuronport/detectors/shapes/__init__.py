"""Shapes that depend on data, grow, or vary from batch to batch."""
