"""What runs, and is slow or wrong: chiefly what users of the native path report."""
