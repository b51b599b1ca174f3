"""What `jobmeter.metaflow` and the Metaflow extension are made of. Metaflow imports these modules while it starts."""

CARD_TYPE = "tracked_resources"
DEFAULT_ARTIFACT = "resource_tracker_data"
