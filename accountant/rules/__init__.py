"""Rules, the limits beside the budget: the charges that they count, and their scopes and clocks."""
