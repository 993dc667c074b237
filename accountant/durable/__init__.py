"""Accountants and their unreleased values on disk, so that a run can be stopped and gone on with."""
