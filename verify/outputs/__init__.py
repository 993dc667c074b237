"""Any value that a function returns, read as columns of numbers and words."""
