"""Numbers with proved bounds: arithmetic rounded upwards, certified quadrature and laws, deadlines, printed digits."""
