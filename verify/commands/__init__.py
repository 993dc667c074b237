"""The commands of ``dpwitness``: one table of options, one of commands, and what each command does."""
