"""Process groups, collectives, launching and wrapping for several devices."""
