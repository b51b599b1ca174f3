"""Which cloud this machine belongs to.

The firmware tables (DMI) are read first. A metadata service is asked only when they name its vendor:
outside of that cloud, nothing is ever sent anywhere.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

from ... import _engine


def get_cloud_info(*, root: str = "/") -> Dict[str, Any]:
    """Vendor, instance type and region, each `"unknown"` where it cannot be told.

    `root` is where `sys/` is looked for. `JOBMETER_METADATA_BASE` names another address of the service.
    """
    return _told(_engine.cloud_info(root, True))


def search_cloud_info() -> Callable[[], Dict[str, Any]]:
    """The same in the background; call what is returned, once, to wait for the answer."""
    search = _engine.search_cloud()
    return lambda: _told(search())


def _told(found: Dict[str, Any]) -> Dict[str, Any]:
    return {key: found[key] for key in ("vendor", "instance_type", "region", "discovery_time")}
