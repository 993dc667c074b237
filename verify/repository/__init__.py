"""What in a checkout of other people's code could be verified, and how; nothing of it is run."""
