"""Tables, figures and pages: functions of stored rows."""
