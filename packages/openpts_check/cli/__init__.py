"""Commands of questions: `openpts check`, and what they print."""
