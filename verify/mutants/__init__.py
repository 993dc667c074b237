"""Mutants: a subject with a fault planted in it, verified like any other. Which layer catches it, and which escape?"""
