"""Certified minimisers: a point provably close to a minimiser, or an error. No noise here."""
