"""Neural fields, evaluated on devices."""
