"""The library with what is known of each instance, as a page that is committed."""
