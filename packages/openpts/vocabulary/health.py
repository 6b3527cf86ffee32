"""What a device's own log says of it at one moment.

Names that every reader of a log uses for the same thing, where the log has it. Counters grow over the
device's life and are the difference of two readings; states are read as they are::

    temperature_c                    state, composite
    temperature_sensor_1_c ...       state, each sensor
    warning_limit_c, critical_limit_c
                                     composite temperatures from which the drive calls itself too hot
    available_spare_pct, available_spare_threshold_pct, percentage_used_pct
                                     states; used is a share of the rated life and may pass 100
    critical_warning                 state, bits of the log; 0 is well
    read_only                        state, 1 when the device takes no more writes
    failure_foretold                 state, 1 when SMART's own verdict is that the drive will fail
    host_read_bytes, host_write_bytes, host_read_commands, host_write_commands
    nand_write_bytes                 all that was written to the media: host, collection, folding, tables
    nand_read_bytes                  all that was read from it
    host_write_unit_bytes, host_read_unit_bytes, nand_write_unit_bytes
                                     states: the steps in which such a counter grows, where they are coarse
    placement_host_write_bytes, placement_media_write_bytes, placement_erased_bytes
                                     of the endurance group, which other namespaces may share (NVMe log 22h)
    placement_handles                state: handles that writes may name
    erases, erase_count_mean, erase_count_max, bad_superblocks
                                     of a simulated drive as it is, not of the drive it stands for
    media_errors, error_log_entries  media errors reached the host; ATA: reported uncorrectable
    reallocated_sectors              as ATA drives count them: sectors, pages or blocks that were replaced
    pending_sectors                  state, ATA: sectors that wait to be replaced
    grown_defects                    SCSI: entries of the grown defect list
    bad_user_blocks, bad_system_blocks
                                     blocks of flash that went bad, by the area that they were in
    throttle_events, throttled_s     changes to a slower thermal state, and time in one
    drive_throttle_events            times that the drive slowed itself down, which need not be in the above
    throttle_level                   state, 0 when the drive does not slow itself down
    warning_temperature_s, critical_temperature_s
    power_on_hours, power_cycles, unsafe_shutdowns, busy_s, energy_j
"""

from collections.abc import Mapping

from msgspec import Struct, field


class HealthReading(Struct, frozen=True):
    """Counters and states of the device's log, by name with unit; ``source`` is the log that was read.

    ``values`` is empty where the device keeps no log that openpts can read, and ``source`` says why.
    """

    source: str
    values: Mapping[str, float] = field(default_factory=dict)
