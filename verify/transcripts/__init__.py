"""What actions tell of one record: views of transcripts, their features, and adversaries."""
