"""What is proved of the learners: regret theorems, gaps, and plans of what one record pays."""
