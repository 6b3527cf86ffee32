"""The SMART log of NVMe, its layout written down a second time."""

import ctypes


class SmartLog(ctypes.LittleEndianStructure):
    """SMART / Health Information log page of the NVM Express Base Specification 2.0, in its order."""

    _pack_ = 1
    _fields_ = [
        ("critical_warning", ctypes.c_uint8),
        ("composite_temperature_k", ctypes.c_uint16),
        ("available_spare", ctypes.c_uint8),
        ("available_spare_threshold", ctypes.c_uint8),
        ("percentage_used", ctypes.c_uint8),
        ("endurance_group_warning", ctypes.c_uint8),
        ("reserved_7", ctypes.c_uint8 * 25),
        ("data_units_read", ctypes.c_uint64 * 2),
        ("data_units_written", ctypes.c_uint64 * 2),
        ("host_reads", ctypes.c_uint64 * 2),
        ("host_writes", ctypes.c_uint64 * 2),
        ("busy_minutes", ctypes.c_uint64 * 2),
        ("power_cycles", ctypes.c_uint64 * 2),
        ("power_on_hours", ctypes.c_uint64 * 2),
        ("unsafe_shutdowns", ctypes.c_uint64 * 2),
        ("media_errors", ctypes.c_uint64 * 2),
        ("error_log_entries", ctypes.c_uint64 * 2),
        ("warning_minutes", ctypes.c_uint32),
        ("critical_minutes", ctypes.c_uint32),
        ("sensors_k", ctypes.c_uint16 * 8),
        ("light_transitions", ctypes.c_uint32),
        ("heavy_transitions", ctypes.c_uint32),
        ("light_s", ctypes.c_uint32),
        ("heavy_s", ctypes.c_uint32),
        ("reserved_232", ctypes.c_uint8 * 280),
    ]


assert ctypes.sizeof(SmartLog) == 512
