"""Keyword models for your own words: `longwave words --help`."""
