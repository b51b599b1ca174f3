"""The interface of gpu_tracker: `import jobmeter.compat.gpu_tracker as gput`."""

from .sub_tracker import SubTracker, SubTrackingAnalyzer, TrackingComparison, sub_track
from .tracker import Tracker

# The version whose interface this is.
__version__ = "5.0.1"
__all__ = ["SubTracker", "SubTrackingAnalyzer", "Tracker", "TrackingComparison", "sub_track"]
