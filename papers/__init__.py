"""What the papers found by experiment, each finding judged by a rule on rows of our own."""
