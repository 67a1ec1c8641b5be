"""What verbs share: arguments, files that are read and written, models by name, cautions."""
