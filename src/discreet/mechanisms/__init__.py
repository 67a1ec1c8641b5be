"""Calibrated mechanisms: noise on a release or a gradient sum, batches of rows, selection."""
