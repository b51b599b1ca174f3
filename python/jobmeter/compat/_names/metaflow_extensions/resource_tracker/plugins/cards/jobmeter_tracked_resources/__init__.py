"""The card of `@track_resources`, for Metaflow to find."""

from jobmeter._metaflow.card import TrackedResourcesCard

CARDS = [TrackedResourcesCard]
