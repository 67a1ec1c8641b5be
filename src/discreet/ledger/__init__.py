"""A budget that is kept: one account per data set."""
