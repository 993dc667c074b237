"""Composition theorems that hold for fully adaptive use, and conversions between privacy notions."""
