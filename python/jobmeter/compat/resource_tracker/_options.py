"""Options of newer releases that have nothing to do here: accepted, with a warning that says what they would have done."""

from __future__ import annotations

from typing import Any, Dict

from ..._warnings import warn

_WOULD_HAVE = {
    "sentinel_token": "sent the samples to the Sentinel service with this token; stream_to sends them to a server of yours",
    "upload_interval": "set the seconds between two uploads to the Sentinel service; nothing is sent anywhere",
    "streaming_metadata": "described the run to the Sentinel service; nothing is sent anywhere",
}


def warn_of(options: Dict[str, Any], stacklevel: int) -> None:
    """One warning for each option that was given."""
    for name in options:
        reason = _WOULD_HAVE.get(name)
        if reason is None:
            text = f"ResourceTracker does not know the option {name!r}; it is ignored"
        else:
            text = f"the option {name!r} of ResourceTracker is ignored; it would have {reason}"
        warn(text, stacklevel=stacklevel + 1)
