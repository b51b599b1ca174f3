"""The words for how a run ended, which `ResourceTracker.stop` takes. Nothing is sent to the service."""

from __future__ import annotations

from enum import Enum


class RunStatus(Enum):
    """How a run ended."""

    finished = "finished"
    failed = "failed"


class DataSource(Enum):
    """Where the samples of a run would be kept."""

    s3 = "s3"
    inline = "inline"
