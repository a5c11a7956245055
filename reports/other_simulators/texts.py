"""What the page says besides its numbers."""

INTRODUCTION = ""
RULES = ""
CLOSING = ""
