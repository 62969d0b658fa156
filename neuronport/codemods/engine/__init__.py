"""What carries codemods: reading the project, the plan, the seam, imports, writing."""
