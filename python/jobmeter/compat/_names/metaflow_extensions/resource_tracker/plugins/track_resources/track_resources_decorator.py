"""The module that has the decorator in the original."""

from jobmeter._metaflow.decorator import ResourceTrackerDecorator

__all__ = ["ResourceTrackerDecorator"]
