"""The legend: repeated phrases of a text, each written once under a short name."""
