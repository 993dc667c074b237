"""Files and JSON of unknown authors: read strictly, described by schemas, and written atomically."""
