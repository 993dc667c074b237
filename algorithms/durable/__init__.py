"""Durable runs: learners in production that are stopped and resumed, exact to the last bit."""
