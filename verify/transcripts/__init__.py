"""Views of an adversary that sees actions or messages: transcripts, their features, and interactive adversaries."""
