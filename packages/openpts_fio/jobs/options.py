"""Every option of fio's job files, in one of three classes: it counts, is ignored, or is refused.

The documentation's tables are made from this one. Options of ioengines are those of engines that openpts
takes jobs of; of the others the words are known, to name what they belong to. Releases up to fio 3.41.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct


class OptionHandling(StrEnum):
    """What becomes of an option."""

    COUNTS = "counts"
    IGNORED = "ignored"
    REFUSED = "refused"


class Option(Struct, frozen=True):
    """``says``: what it becomes, or why it doesn't.

    A refused option is ignored where its value is one of ``harmless``, with which fio does nothing.
    """

    name: str
    treatment: OptionHandling
    says: str
    aliases: tuple[str, ...] = ()
    harmless: frozenset[str] = frozenset()


_COUNTS: Final[Mapping[str, str]] = {
    "name": "name of the stream, instead of the section's",
    "rw": "operations and order",
    "rwmixread": "weights of the operations; of rwmixread and rwmixwrite the later one counts",
    "rwmixwrite": "weights of the operations; of rwmixread and rwmixwrite the later one counts",
    "percentage_random": "share of random accesses; the others continue the thread's sequence",
    "random_distribution": "placement: random, zipf, pareto, zoned or zoned_abs; normal is refused",
    "bs": "transfer size of each direction",
    "bssplit": "transfer sizes with weights, of each direction",
    "bsrange": "the multiples of the smallest size, equally often",
    "ba": "alignment of random accesses; the smallest size without it",
    "norandommap": "random places are drawn independently; also without it, which is noted",
    "numjobs": "threads of the stream",
    "iodepth": "queue depth of each thread; 1 for trims and with engines that make system calls one by one",
    "ioengine": "whether iodepth counts; the I/O path is chosen by openpts",
    "direct": "must be 1, which is assumed where it is not given",
    "buffered": "must be 0",
    "offset": "start of the active range",
    "offset_align": "alignment of a start in per cent",
    "offset_increment": "start of each thread's own range",
    "size": "length of the active range; the amount where nothing else ends the job",
    "io_size": "amount of data",
    "number_ios": "number of I/Os",
    "loops": "amount and number of I/Os times this",
    "runtime": "duration",
    "time_based": "only runtime ends the job",
    "ramp_time": "ramp-up of the step",
    "startdelay": "start delay of the stream",
    "stonewall": "begins another step",
    "rate": "cap in bytes per second and thread, of each direction",
    "rate_iops": "cap in IOPS per thread, of each direction; of several sizes in units of the smallest",
    "rate_process": "poisson makes arrivals of rate_iops an open loop",
    "thinktime": "think time, or rest after a batch",
    "thinktime_blocks": "I/Os of each batch",
    "thinktime_blocks_type": "needed where iodepth is above thinktime_blocks",
    "flow": "share of the stream in the I/Os of the step, times its threads",
    "flow_id": "must be the same in all jobs of a step that have a flow",
    "fsync": "weight of fsyncs beside writes",
    "fdatasync": "weight of flushes beside writes",
    "zero_buffers": "data: zeros",
    "refill_buffers": "data: random, for each write; see scramble_buffers",
    "scramble_buffers": "0 without refill_buffers: random data that are made once",
    "buffer_pattern": "data: a pattern in hexadecimal or in quotes",
    "buffer_compress_percentage": "data of less entropy",
    "buffer_compress_chunk": "granule of such data",
    "dedupe_percentage": "data with duplicates",
    "dedupe_mode": "must be repeat, fio's default, where dedupe_percentage asks for duplicates",
    "verify": "sectors with LBA, generation and checksum, whatever checksum is named",
    "do_verify": "whether what was written is read back in another step",
    "prio": "level of the I/O priority",
    "prioclass": "class of the I/O priority",
    "atomic": "1: writes are on the media wholly or not at all (RWF_ATOMIC; untried on hardware)",
    "fdp": "1: writes name the placement handle of plids (untried on hardware)",
    "dataplacement": "fdp: the same; streams is refused",
    "plids": "the placement handle of the job's writes: one",
    "plid_select": "chooses nothing of one handle; scheme is refused where fdp is on",
    "steadystate": "the step ends when the figure is steady",
    "steadystate_duration": "time that is looked at, in windows of a second or of steadystate_check_interval",
    "steadystate_check_interval": "length of the windows, instead of a second",
    "steadystate_ramp_time": "added to the step's ramp-up",
    "group_reporting": "a steady state is that of all jobs of a step",
    "kb_base": "what k, m, g and t stand for",
}

_TARGET: Final = "the target is the one that openpts is given"
_REPORTING: Final = "openpts has its own figures"
_LOGS: Final = "openpts has its own files: --json, --capture"
_OWN_ENGINE: Final = "openpts submits and completes I/Os in its own way: --io-path, --wait"
_PROCESSORS: Final = "openpts pins its threads: --cpus"
_FILES: Final = "openpts prepares its target itself"
_SEED: Final = "openpts has its own generator: --seed"
_CHECKS: Final = "openpts stops at the first sector that is not right"
_FAILURES: Final = "openpts counts failed I/Os: --max-errors"
_NOTHING: Final = "fio itself ignores it"

_IGNORED: Final[Mapping[str, str]] = {
    _TARGET: "filename directory filename_format unique_filename opendir lockfile openfiles "
    "file_service_type filesize file_append allow_mounted_write",
    _REPORTING: "description unified_rw_reporting percentile_list clat_percentiles lat_percentiles "
    "slat_percentiles significant_figures disk_util disable_lat disable_clat disable_slat "
    "disable_bw_measurement gtod_reduce gtod_cpu clocksource stats new_group unit_base bwavgtime "
    "iopsavgtime block_error_percentiles",
    _LOGS: "per_job_logs write_bw_log write_lat_log write_iops_log write_hist_log log_entries log_avg_msec "
    "log_hist_msec log_hist_coarseness log_window_value log_offset log_prio log_issue_time log_compression "
    "log_compression_cpus log_store_compressed log_unix_epoch log_alternate_epoch "
    "log_alternate_epoch_clock_id job_start_clock_id write_iolog",
    _OWN_ENGINE: "iodepth_batch iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low "
    "io_submit_mode thread mem mem_align lockmem hugepage-size fixedbufs registerfiles hipri "
    "hipri_percentage libaio_vectored sqthread_poll sqthread_poll_cpu nonvectored uncached nowait "
    "force_async userspace_reap thinktime_spin rate_cycle cmd_type flow_sleep gpu_dev_id",
    _PROCESSORS: "cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy nice",
    _FILES: "invalidate fallocate fadvise_hint create_serialize create_fsync create_on_open create_only "
    "allow_file_create pre_read unlink unlink_each_loop overwrite end_fsync fsync_on_close fill_device "
    "filetype",
    _SEED: "randrepeat allrandrepeat randseed random_generator softrandommap",
    _CHECKS: "verify_fatal verify_dump verify_async verify_async_cpus verify_interval verify_state_save "
    "verify_state_load verify_write_sequence verify_header_seed verify_mode",
    _FAILURES: "continue_on_error ignore_error error_dump exitall_on_error",
    _NOTHING: "flow_watermark verifysort verifysort_nr",
}

_NEEDS: Final[Mapping[str, str]] = {
    "exitall": "exit_what",
    "latency_target": "latency_window latency_percentile latency_run",
    "dedupe_mode=working_set": "dedupe_working_set_percentage dedupe_global",
    "trim_percentage": "trim_backlog trim_backlog_batch",
    "verify_backlog": "verify_backlog_batch",
    "verify_pattern": "verify_pattern_interval",
    "read_iolog": "read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align "
    "replay_time_scale replay_skip",
    "merge_blktrace_file": "merge_blktrace_scalars merge_blktrace_iters",
    "cmdprio_percentage or cmdprio_bssplit": "cmdprio_class cmdprio cmdprio_hint",
    "zonemode": "zonecapacity read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits "
    "zone_reset_threshold zone_reset_frequency recover_zbd_write_error",
    "cgroup": "cgroup_nodelete",
    "sprandom": "spr_num_regions spr_op",
    "plid_select=scheme": "dp_scheme",
    "sg_write_mode": "stream_id",
    "write_mode": "deac",
    "pi_chk": "apptag apptag_mask",
    "profile": "device-names load test-duration threads-per-queue read-req-num-512-blocks "
    "large-block-op-kbytes prep block numruns dir threads",
}
"""Options that fio reads only beside another, by that one: each job in which it is on is refused."""

_STRIDES: Final = (
    "openpts has no zones; without zonemode some releases of fio refuse it, others jump over zones"
)
_NO_METADATA: Final = "openpts moves no metadata or protection information with blocks"
_OFF: Final = frozenset({"0"})
_NEVER: Final[frozenset[str]] = frozenset()

_REFUSED: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "wait_for": ("openpts runs jobs side by side or one after the other: use stonewall", _NEVER),
    "exitall": ("streams of a step don't end each other", _OFF),
    "nrfiles": ("the target is one", frozenset({"1"})),
    "rw_sequencer": ("several I/Os for each random place", frozenset({"sequential"})),
    "bs_unaligned": ("direct I/O takes whole sectors", _OFF),
    "bs_is_seq_rand": ("sizes by order instead of by direction", _OFF),
    "serialize_overlap": ("openpts has no order among overlapping I/Os", _OFF),
    "sync": ("openpts issues no write that is synchronous by itself: use fsync", frozenset({"0", "none"})),
    "sync_file_range": ("the page cache is not used", _NEVER),
    "write_barrier": ("openpts has no such flush: use fdatasync", _OFF),
    "readfua": ("openpts forces no unit access", _OFF),
    "writefua": ("openpts forces no unit access: use fsync", _OFF),
    "write_mode": ("openpts writes by the command write alone", frozenset({"write"})),
    "sg_write_mode": ("openpts writes by the command write alone", frozenset({"write"})),
    "md_per_io_size": (_NO_METADATA, _OFF),
    "pi_act": (_NO_METADATA, frozenset({"1"})),
    "pi_chk": (_NO_METADATA, _NEVER),
    "num_range": ("openpts trims one range with a command", frozenset({"1"})),
    "sprandom": ("openpts has that preparation as its short form: run TEST --short, without this job", _OFF),
    "priohint": ("openpts passes no hint of duration with a priority", _OFF),
    "thinkcycles": ("a pause that is spun for a number of cycles: use thinktime", _OFF),
    "write_hint": ("openpts passes no lifetime of data to the drive", frozenset({"none"})),
    "thinktime_iotime": ("a rest after a time instead of after I/Os", _OFF),
    "rate_min": ("openpts ends no job for being slow", _OFF),
    "rate_iops_min": ("openpts ends no job for being slow", _OFF),
    "rate_ignore_thinktime": ("a rate that continues during think time", _OFF),
    "max_latency": ("openpts ends no job for being slow", _OFF),
    "latency_target": ("openpts searches no queue depth for a latency", _OFF),
    "verify_only": ("openpts checks what it has written itself", _OFF),
    "verify_pattern": ("openpts checks sectors that have LBA, generation and checksum", _NEVER),
    "verify_offset": ("openpts checks whole sectors", _OFF),
    "verify_backlog": ("openpts checks after all has been written", _OFF),
    "experimental_verify": ("openpts checks by LBA, generation and checksum", _OFF),
    "trim_percentage": ("trims of what was written before, in a verified job", _OFF),
    "trim_verify_zero": ("reading back trims belongs to the test that is made for it", _OFF),
    "read_iolog": ("openpts replays no recorded I/O", _NEVER),
    "merge_blktrace_file": ("openpts replays no recorded I/O", _NEVER),
    "exec_prerun": ("openpts starts no commands of a job file", _NEVER),
    "exec_postrun": ("openpts starts no commands of a job file", _NEVER),
    "ioscheduler": ("openpts changes no setting of the host for a job: see openpts doctor", _NEVER),
    "zonemode": ("openpts has no zones", frozenset({"none"})),
    "zonesize": (_STRIDES, _OFF),
    "zonerange": (_STRIDES, _OFF),
    "zoneskip": (_STRIDES, _OFF),
    "cgroup": ("openpts doesn't put its threads in groups", _NEVER),
    "cgroup_weight": ("openpts doesn't put its threads in groups", _NEVER),
    "uid": ("openpts doesn't change its user", _NEVER),
    "gid": ("openpts doesn't change its group", _NEVER),
    "profile": ("openpts has tests of its own instead", _NEVER),
    "cmdprio_percentage": ("a priority for some of a job's I/Os: use prio and prioclass", _OFF),
    "cmdprio_bssplit": ("a priority for some of a job's I/Os: use prio and prioclass", _NEVER),
}

_ALIASES: Final[Mapping[str, str]] = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blockalign": "ba",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "iodepth_batch_submit": "iodepth_batch",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "io_limit": "io_size",
    "fill_fs": "fill_device",
    "fileoffset": "offset",
    "nr_files": "nrfiles",
    "timeout": "runtime",
    "iomem": "mem",
    "iomem_align": "mem_align",
    "ratemin": "rate_min",
    "ratecycle": "rate_cycle",
    "wait_for_previous": "stonewall",
    "ss": "steadystate",
    "ss_dur": "steadystate_duration",
    "ss_interval": "steadystate_check_interval",
    "ss_ramp": "steadystate_ramp_time",
    "disable_bw": "disable_bw_measurement",
    "log_max_value": "log_window_value",
    "data_placement": "dataplacement",
    "fdp_pli": "plids",
    "fdp_pli_select": "plid_select",
}


def _all_options() -> dict[str, Option]:
    aliases: dict[str, list[str]] = {}
    for alias, name in _ALIASES.items():
        aliases.setdefault(name, []).append(alias)
    ignored = {name: why for why, names in _IGNORED.items() for name in names.split()}
    ignored |= {
        name: f"has no effect without {partner}"
        for partner, names in _NEEDS.items()
        for name in names.split()
    }
    options = [Option(name, OptionHandling.COUNTS, says) for name, says in _COUNTS.items()]
    options += [Option(name, OptionHandling.IGNORED, why) for name, why in ignored.items()]
    options += [
        Option(name, OptionHandling.REFUSED, why, harmless=harmless)
        for name, (why, harmless) in _REFUSED.items()
    ]
    return {
        one.name: Option(one.name, one.treatment, one.says, tuple(aliases.get(one.name, ())), one.harmless)
        for one in options
    }


OPTIONS: Final[Mapping[str, Option]] = _all_options()
"""By their names; each alias is in the option that it stands for."""

BY_WORD: Final[Mapping[str, Option]] = {
    word: option for option in OPTIONS.values() for word in (option.name, *option.aliases)
}
"""By all the words that a job file may have for them."""

_OF_OTHER_ENGINES: Final[Mapping[str, str]] = {
    "cpuio": "cpuload cpumode cpuchunks exit_on_io_done",
    "mmap": "thp",
    "exec": "program arguments grace_time std_redirect",
    "e4defrag": "donorname inplace",
    "filestat or dirstat": "stat_type",
    "mtd": "skip_bad",
    "net or netsplice": "protocol proto nodelay listen pingpong interface ttl window_size mss",
    "net, netsplice, rdma or libhdfs": "hostname port",
    "rdma": "bindname verb",
    "libhdfs": "namenode hdfsdirectory single_instance hdfs_use_direct chunck_size",
    "dfs": "cont object_class svcl",
    "dfs or libhdfs": "chunk_size",
    "rados, rbd or dfs": "pool",
    "rados or rbd": "clustername clientname busy_poll",
    "rados": "conf touch_objects",
    "rbd": "rbdname",
    "gfapi or gfapi_async": "volume brick single-instance",
    "http": "https http_host http_user http_pass http_s3_key http_s3_keyid http_s3_security_token "
    "http_s3_region http_s3_sse_customer_key http_s3_sse_customer_algorithm http_s3_storage_class "
    "http_swift_auth_token http_mode http_verbose http_object_mode",
    "libblkio": "libblkio_driver libblkio_path libblkio_pre_connect_props libblkio_num_entries "
    "libblkio_queue_size libblkio_pre_start_props libblkio_vectored libblkio_write_zeroes_on_trim "
    "libblkio_wait_mode libblkio_force_enable_completion_eventfd",
    "libcufile": "gpu_dev_ids cuda_io",
    "libiscsi": "initiator",
    "nbd": "uri",
    "nfs": "nfs_url",
    "windowsaio": "no_completion_thread",
    "xnvme": "xnvme_be xnvme_mem xnvme_async xnvme_sync xnvme_admin xnvme_dev_nsid "
    "xnvme_dev_subnqn xnvme_iovec",
}

OTHER_ENGINES: Final[Mapping[str, str]] = {
    word: engines for engines, words in _OF_OTHER_ENGINES.items() for word in words.split()
}
"""The engines whose option a word is, of those that openpts takes no jobs of."""
