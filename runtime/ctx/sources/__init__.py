"""Sources as documents and back: JSON, JSON Lines, CSV, YAML and TOML."""
