"""What the research scripts share: risks of many strengths, rules that choose from them, further data."""
