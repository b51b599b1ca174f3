"""Servers and their prices, from the catalogue that comes with jobmeter. Nothing is asked over the network."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ... import _engine
from ..._warnings import warn


def keeper_request(path: str, timeout: int = 2, endpoint: str = "https://keeper.sparecores.net") -> Optional[Any]:
    """Always `None`, as in the original when the service cannot be reached: jobmeter does not ask it."""
    warn(f"jobmeter does not ask {endpoint}; recommendations come from its own catalogue", stacklevel=2)
    return None


def get_instance_price(vendor_id: str, region_id: str, instance_type: str) -> Optional[float]:
    """The on-demand price per hour, in that region or else in another; `None` for a type without one."""
    return _engine.server_price(vendor_id, region_id, instance_type)


def get_recommended_cloud_servers(
    cpu: int, memory: int, gpu: Optional[int] = None, vram: Optional[int] = None, n: int = 10
) -> List[Dict[str, Any]]:
    """The `n` cheapest servers of the catalogue with at least these cores, MiB, GPUs and MiB of VRAM."""
    resources = {"cpu": cpu, "memory": memory, "gpu": gpu or 0, "vram": vram or 0}
    try:
        return _engine.recommend_servers(resources, max(n, 0))
    except LookupError:
        return []
