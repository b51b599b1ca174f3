"""Tells Metaflow of `@track_resources`, where this folder is on the path."""

STEP_DECORATORS_DESC = [("track_resources", "jobmeter._metaflow.decorator.ResourceTrackerDecorator")]
__mf_promote_submodules__ = ["track_resources"]
