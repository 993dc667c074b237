"""Likelihood audits: where the law of a view can be computed, exactly or by quadrature."""
