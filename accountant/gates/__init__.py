"""Gates and the private values behind them: the only doors between user data and everything public."""
