"""Errors of a machine that has no process, thread, open file, memory or disk left."""

import errno
import os

_ERRNOS = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT}
#: Beginning of the line by which a process reports such a failure to its parent.
LACKS = "this machine has no more: "


class MachineError(Exception):
    """A run could not be carried out here, whatever its method is; the message is one line."""


def describe_shortage(error: BaseException) -> str:
    """Return the machine's words for the resource it lacks; empty for another error."""
    if isinstance(error, MachineError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _ERRNOS:
        return error.strerror or str(error)
    # The dynamic loader has no number for it.
    if isinstance(error, ImportError) and "failed to map segment" in str(error):
        return os.strerror(errno.ENOMEM)
    # Python has no class of errors for threads.
    if isinstance(error, RuntimeError) and str(error).startswith("can't start new thread"):
        return str(error)
    return ""
