"""What estimators share: parameters, tables, the way of a fit, its charge, claim and file."""
