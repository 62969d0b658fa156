"""Number formats: mixed precision, widths the hardware lacks, values that do not survive."""
