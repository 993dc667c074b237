"""What a multiset of mechanisms costs together: certified bounds on composed privacy losses."""
