"""From evidence to verdict, result and report."""
