"""What each torch operation becomes: one file per subject. match.py lists them."""
