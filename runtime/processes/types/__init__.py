"""Types: shapes of values, names in scope, and checks of values."""
