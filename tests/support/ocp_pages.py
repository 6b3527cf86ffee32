"""OCP's pages C0h, C1h and C3h and NVMe's 25h, their layouts written down a second time, in their order."""

import ctypes
from typing import Any

U8, U16, U32, U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


class SmartExtended(ctypes.LittleEndianStructure):
    """C0h of version 6. A number of 16, 7 or 6 bytes is an array of bytes."""

    _pack_ = 1
    _fields_ = [
        ("physical_media_written_bytes", U8 * 16),
        ("physical_media_read_bytes", U8 * 16),
        ("bad_user_blocks", U8 * 6),
        ("bad_user_blocks_pct", U16),
        ("bad_system_blocks", U8 * 6),
        ("bad_system_blocks_pct", U16),
        ("xor_recoveries", U64),
        ("uncorrectable_read_errors", U64),
        ("soft_ecc_errors", U64),
        ("end_to_end_errors_detected", U32),
        ("end_to_end_errors_corrected", U32),
        ("system_data_used_pct", U8),
        ("refreshed_blocks", U8 * 7),
        ("user_data_erase_count_max", U32),
        ("user_data_erase_count_min", U32),
        ("thermal_throttling_events", U8),
        ("thermal_throttling_status", U8),
        ("dssd_errata_version", U8),
        ("dssd_point_version", U16),
        ("dssd_minor_version", U16),
        ("dssd_major_version", U8),
        ("pcie_correctable_errors", U64),
        ("incomplete_shutdowns", U32),
        ("reserved_116", U32),
        ("free_blocks_pct", U8),
        ("reserved_121", U8 * 7),
        ("capacitor_health_pct", U16),
        ("nvme_base_errata_version", ctypes.c_char),
        ("nvm_command_set_errata_version", ctypes.c_char),
        ("pcie_transport_errata_version", ctypes.c_char),
        ("management_interface_errata_version", ctypes.c_char),
        ("proactively_retired_bad_dies", U16),
        ("unaligned_ios", U64),
        ("security_version_number", U64),
        ("total_namespace_utilization_blocks", U64),
        ("power_loss_protection_starts", U8 * 16),
        ("endurance_estimate_bytes", U8 * 16),
        ("pcie_link_retrainings", U64),
        ("power_state_changes", U64),
        ("lowest_permitted_firmware_revision", ctypes.c_char * 8),
        ("media_dies", U16),
        ("media_die_failure_tolerance", U16),
        ("media_dies_offline", U16),
        ("highest_temperature_c", U8),
        ("form_factor", U8),
        ("erase_count_mean", U64),
        ("command_timeouts", U32),
        ("system_area_program_failures", U32),
        ("system_area_program_failures_left_pct", U8),
        ("reserved_241", U8 * 3),
        ("system_area_uncorrectable_reads", U32),
        ("system_area_uncorrectable_reads_left_pct", U8),
        ("reserved_249", U8 * 3),
        ("system_area_erase_failures", U32),
        ("system_area_erase_failures_left_pct", U8),
        ("reserved_257", U8 * 3),
        ("peak_power_capability_w", U16),
        ("average_power_w", U16),
        ("lifetime_energy_kwh", U8 * 6),
        ("dssd_firmware_revision", ctypes.c_char * 8),
        ("dssd_firmware_build_uuid", U8 * 16),
        ("dssd_firmware_build_label", ctypes.c_char * 64),
        ("bad_blocks_of_dies_in_use", U8 * 6),
        ("bad_blocks_of_dies_in_use_pct", U16),
        ("reserved_366", U8 * 128),
        ("version", U16),
        ("guid", U8 * 16),
    ]


class ErrorRecovery(ctypes.LittleEndianStructure):
    """C1h of version 3."""

    _pack_ = 1
    _fields_ = [
        ("error_reset_wait_ms", U16),
        ("error_reset_action", U8),
        ("device_recovery_action_1", U8),
        ("error_id", U64),
        ("device_capabilities", U32),
        ("vendor_recovery_opcode", U8),
        ("reserved_17", U8 * 3),
        ("vendor_command_cdw12", U32),
        ("vendor_command_cdw13", U32),
        ("vendor_command_timeout_s", U8),
        ("device_recovery_action_2", U8),
        ("recovery_action_timeout_s", U8),
        ("errors", U8),
        ("previous_error_id", U64 * 4),
        ("reserved_64", U8 * 430),
        ("version", U16),
        ("guid", U8 * 16),
    ]


class PowerMeasurement(ctypes.LittleEndianStructure):
    """25h, ahead of its histogram."""

    _pack_ = 1
    _fields_ = [
        ("version", U8),
        ("generation", U8),
        ("attributes", U16),
        ("log_bytes", U32),
        ("measurements", U32),
        ("histogram_bins", U16),
        ("remaining_min", U16),
        ("stop_stamp", U64),
        ("histogram_descriptor_bytes", U16),
        ("histogram_bin_mw", U16),
        ("histogram_bins_supported", U16),
        ("vendor_bytes", U16),
        ("histogram_overflows", U32),
        ("reserved_36", U32),
        ("average_power", U32),
        ("maximum_power", U32),
        ("maximum_power_stamp", U64),
        ("power_error_pct", U8),
        ("reserved_57", U8 * 7),
    ]


class Operations(ctypes.LittleEndianStructure):
    """Counters of a bucket."""

    _pack_ = 1
    _fields_ = [("reserved", U32), ("deallocate", U32), ("write", U32), ("read", U32)]


class Stamps(ctypes.LittleEndianStructure):
    """Stamps of a bucket."""

    _pack_ = 1
    _fields_ = [("deallocate", U64), ("write", U64), ("read", U64)]


class Latencies(ctypes.LittleEndianStructure):
    """Latencies of a bucket."""

    _pack_ = 1
    _fields_ = [("deallocate", U16), ("write", U16), ("read", U16)]


class LatencyMonitor(ctypes.LittleEndianStructure):
    """C3h of version 5; ``_down`` begins with the last bucket."""

    _pack_ = 1
    _fields_ = [
        ("status", U8),
        ("reserved_1", U8),
        ("timer", U16),
        ("timer_threshold", U16),
        ("thresholds", U8 * 4),
        ("configuration", U16),
        ("window", U8),
        ("reserved_13", U8 * 19),
        ("active_counters", Operations * 4),
        ("active_stamps_down", Stamps * 4),
        ("active_latencies_down", Latencies * 4),
        ("active_stamp_units", U16),
        ("reserved_218", U8 * 22),
        ("static_counters", Operations * 4),
        ("static_stamps_down", Stamps * 4),
        ("static_latencies_down", Latencies * 4),
        ("static_stamp_units", U16),
        ("reserved_426", U8 * 10),
        ("debug_log_dwords", U8 * 12),
        ("debug_trigger", U16),
        ("debug_latency", U16),
        ("debug_stamp", U64),
        ("debug_page", U16),
        ("debug_source", U16),
        ("debug_stamp_unit", U8),
        ("reserved_465", U8 * 29),
        ("version", U16),
        ("guid", U8 * 16),
    ]


assert [ctypes.sizeof(one) for one in (SmartExtended, ErrorRecovery, LatencyMonitor)] == [512] * 3
assert ctypes.sizeof(PowerMeasurement) == 64


def number(value: Any) -> int:
    """A number, or one that is an array of bytes."""
    return value if isinstance(value, int) else int.from_bytes(bytes(value), "little")
