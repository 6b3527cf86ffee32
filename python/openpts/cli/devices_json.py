"""The drives as JSON, for programs: docs/devices.md describes every field.

``schema_version`` grows when a field changes its meaning or goes; new fields may come without that.
"""

from collections.abc import Sequence
from typing import Any, Final

from openpts.cli.guard_verdict import verdict_object
from openpts.device.listing.drive_listing import DeviceListing

SCHEMA_VERSION: Final = 1


def as_json_object(listings: Sequence[DeviceListing]) -> dict[str, Any]:
    """What `openpts devices --json` prints; None is what nothing reports."""
    return {
        "schema": "openpts-devices",
        "schema_version": SCHEMA_VERSION,
        "devices": [_device(listing) for listing in listings],
    }


def _device(listing: DeviceListing) -> dict[str, Any]:
    return {
        "path": listing.path,
        "model": listing.model,
        "serial": listing.serial,
        "firmware": listing.firmware,
        "capacity_bytes": listing.capacity_bytes,
        "interface": listing.interface,
        "link": {"current": listing.link.current, "maximum": listing.link.most},
        "form_factor": listing.form_factor,
        "media": listing.media.kind,
        "rotation_rpm": listing.media.rpm,
        "logical_sector_bytes": listing.sector_bytes,
        "physical_sector_bytes": listing.physical_sector_bytes,
        "write_cache": listing.write_cache,
        "temperature_c": listing.temperature_c,
        "percentage_used_pct": listing.percentage_used_pct,
        "health": {"source": listing.health.source, "values": dict(listing.health.values)},
        "purge_methods": [
            {
                "name": ability.name,
                "title": ability.title,
                "is_purge": ability.is_purge,
                "supported": ability.supported,
                "reason": ability.reason,
                "duration_s": ability.duration_s,
                "reaches": list(ability.reaches),
            }
            for ability in listing.purge
        ],
        "other_namespaces": list(listing.siblings),
        "facts": {key: {"value": fact.value, "source": fact.source} for key, fact in listing.facts.items()},
        "warnings": list(listing.warnings),
        "silent": listing.silent or None,
        "safety": verdict_object(listing.verdict),
    }
