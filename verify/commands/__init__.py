"""The commands of ``dpwitness``: ``list | verify | simulate | audit | calibrate``."""
