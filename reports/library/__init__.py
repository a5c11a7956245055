"""The library with what is known of each instance, as a page that is committed."""

#: Pictures of schedules on its pages; one takes about half a second.
MOST_PICTURES = 40
