"""The tools of each category and what runs them."""
