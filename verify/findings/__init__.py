"""The results of the layers: findings and bounds, in sentences typed by their evidence, printable and as JSON data."""
