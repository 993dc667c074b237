"""The commands of ``dpwitness``: ``list | verify | regret | simulate | audit | calibrate``."""
