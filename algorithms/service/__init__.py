"""Learners over HTTP: the part of a service that a run is (the extra ``serve``)."""
