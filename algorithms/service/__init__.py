"""Learners over HTTP: a learner's run as a part of a service (the extra ``serve``)."""
