"""Files that are written whole, carry a checksum, and print as plain text."""
