"""Files and JSON that somebody else may have written: read strictly, described by schemas, and written whole."""
