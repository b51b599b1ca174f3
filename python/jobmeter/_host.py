"""The machine and its cloud, as `jobmeter host` tells them."""

from __future__ import annotations

from typing import Any, Dict

from . import _engine


def get_server_info() -> Dict[str, Any]:
    """Operating system, processors, memory, disks, GPUs, limits, container and job of this machine.

    What cannot be read is `None`. Nothing is sent to any network.
    """
    return _engine.host_info()


def get_cloud_info(discover_cloud: bool = False, *, root: str = "/") -> Dict[str, Any]:
    """Vendor, instance type, region and zone, each `None` where it is not known, with the reason.

    The firmware below `root` names the vendor. Only with `discover_cloud=True` is the metadata service of the vendor
    that it names asked, for 500 ms at the most. `JOBMETER_METADATA_BASE` names another address of the service.
    """
    found = _engine.cloud_facts(root, discover_cloud)
    return {**found, "discovery_time": found["discovery_time_s"]}
