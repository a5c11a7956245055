"""The library with the best known values of each instance, as a committed page."""

#: Pictures of schedules on its pages; one takes about half a second.
MOST_PICTURES = 40
