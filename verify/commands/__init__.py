"""The commands of ``dpwitness``: one table of options, one of commands, and the function of each command."""
