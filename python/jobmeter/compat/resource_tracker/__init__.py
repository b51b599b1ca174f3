"""The interface of resource_tracker: `from jobmeter.compat.resource_tracker import ResourceTracker`."""

from .cloud_info import get_cloud_info
from .server_info import get_server_info
from .tiny_data_frame import StatSpec, TinyDataFrame
from .tracker import PidTracker, ProcessTracker, ResourceTracker, SystemTracker

# The version whose interface this is.
__version__ = "0.5.0"
__all__ = [
    "PidTracker", "ProcessTracker", "ResourceTracker", "StatSpec", "SystemTracker", "TinyDataFrame",
    "get_cloud_info", "get_server_info",
]  # fmt: skip
