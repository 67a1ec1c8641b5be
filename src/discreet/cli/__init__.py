"""The command ``discreet``: one file per verb."""
