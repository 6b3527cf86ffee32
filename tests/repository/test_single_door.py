"""Nothing but the guard opens a drive for writing, and nothing else sends it a command that changes it.

Each table says which modules use a way to write, all of them: a new one must be entered here, with a reason.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests import ROOT
from tests.support.syntax_trees import PACKAGES, nodes

RUST = ROOT / "rust"

# what can't write, however it is combined
HARMLESS_FLAGS = {
    "O_RDONLY",
    "O_CLOEXEC",
    "O_NONBLOCK",
    "O_DIRECTORY",
    "O_DIRECT",
    "O_EXCL",
    "O_NOFOLLOW",
    "O_PATH",
    "O_ACCMODE",
}

OPENS_FOR_WRITING = {
    "openpts_check/drivers/filer.py": "new files in a folder of its own",
    "openpts_traces/capture/tracefs.py": "files of a trace instance of its own",
    "openpts_drives/mounted/prepared_drive.py": "a new file on the file system that it has made",
    "openpts/device/guard/guard.py": "drives",
    "openpts/device/targets/scratch_file.py": "files of tests, and of a served drive's contents",
    "openpts/cli/live_outputs.py": "a file of the operator's, to append lines; no block device",
    "openpts/device/write_cache.py": "an attribute of sysfs",
    "openpts/run_folder_files.py": "new files of a run, a suite or a report, beside their names",
    "openpts_host/setting_file.py": "attributes of sysfs and procfs",
    "openpts/journal.py": "its own entries",
    "openpts/ownership.py": "files with the owner of a drive, below /dev, and of a run folder",
    "openpts/runner/telemetry.py": "the last sample of the host, below /dev",
}
OPENS_WITH_FLAGS_FROM_ELSEWHERE = {
    "openpts/device/guard/guard.py": "reading to check, writing to hand out",
    "openpts/device/targets/scratch_file.py": "an existing file or a new one",
    "openpts_drives/purge/purge_programs.py": "reading, with or without a claim",
    "openpts/device/nvme_admin.py": "the rights of the descriptor that the guard has let through",
}
WRITES_TO_DESCRIPTORS = {
    "openpts_compare/selftest/known_delays.py": "a pipe that the engine reads",
    "openpts_traces/capture/tracefs.py": "files of a trace instance of its own",
    "openpts_drives/mounted/prepared_drive.py": "a file that fills the file system that it has made",
    "openpts_nvme/drivers/dssd/kernel_door.py": "a target, which is to be trimmed, formatted and sanitized",
    "openpts/cli/standard_streams.py": "standard output and the error channel",
    "openpts/cli/folder_events.py": "the events of a run, in its folder",
    "openpts/device/targets/scratch_file.py": "the size of a scratch file",
    "openpts/device/purge/purge.py": "marks on a target before its purge, random data as its last resort",
    "openpts_drives/listing.py": "a pipe",
    "openpts/device/trimmed_reads.py": "marks on a target, within the range of its test",
    "openpts/device/write_cache.py": "an attribute of sysfs",
    "openpts_host/setting_file.py": "attributes of sysfs and procfs",
    "openpts_check/drivers/appender.py": "appends to a file that the guard has opened",
    "openpts_check/drivers/filer.py": "new files in a folder of its own",
    "openpts/ownership.py": "files with an owner",
    "openpts/record/spooling_writer.py": "the size of a file without a name in a run folder",
    "openpts/runner/native_engine.py": "a file in memory, given its size",
    "openpts/runner/telemetry.py": "the last sample of the host",
}
WRITES_FILES_BY_NAME = {
    "openpts/cli/options.py": "no file: the text of a page of help",
    "openpts/cli/standard_streams.py": "the null device, in place of a closed stream",
    "openpts/run_folder_files.py": "a file that it has just made",
    "openpts/journal.py": "its own entries",
    "openpts/temporary_folder.py": "the mark of a folder that it has made",
}
OPENS_BY_NAME = {
    "files of a run folder, and no other way": {"openpts/run_folder_files.py"},
    "its owner's file": {"openpts/ownership.py", "openpts/journal.py", "openpts/temporary_folder.py"},
    "what this process or its runs have just made": {
        "openpts_export/batch_metrics.py",
        "openpts/cli/standard_streams.py",
        "openpts_check/drivers/filer.py",
        "openpts_check/drivers/own_folder.py",
        "openpts_export/export.py",
        "openpts_compare/selftest/known_delays.py",
    },
    "a file that the operator names": {
        "openpts/cli/live_outputs.py",
        "openpts/config_files/written_file.py",
        "openpts_nvme/drivers/dssd/driver.py",
        "openpts_practice/rows/benchmarks/listing.py",
        "openpts_traces/cli/trace_commands.py",
        "openpts_traces/replay/traces.py",
        "openpts_web/serve.py",
        "openpts_sim/presets.py",
    },
    "a drive, or the file that stands in for one": {
        "openpts/device/guard/guard.py",
        "openpts/device/identity.py",
        "openpts/device/kernel_calls.py",
        "openpts_drives/mounted/directory.py",
        "openpts_drives/mounted/prepared_drive.py",
        "openpts/device/nvme_admin.py",
        "openpts_drives/purge/purge_programs.py",
        "openpts/device/targets/reading.py",
        "openpts/device/targets/scratch_file.py",
    },
    "attributes of sysfs and procfs, traces of the kernel": {
        "openpts/device/guard/claims.py",
        "openpts/device/write_cache.py",
        "openpts_host/memory.py",
        "openpts_host/gauges.py",
        "openpts_host/setting_file.py",
        "openpts_nvme/drivers/dssd/kernel_door.py",
        "openpts_traces/capture/blktrace.py",
        "openpts_traces/capture/tracefs.py",
        "openpts_pages/plots/worker_processes.py",
        "openpts/runner/telemetry.py",
        "openpts/system_files.py",
    },
    "what is installed with openpts, or beside it": {
        "openpts_pts/conformance/catalogue.py",
        "openpts_pts/conformance/conformance.py",
        "openpts_pts/conformance/requirements.py",
        "openpts_compare/selftest/known_answers.py",
        "openpts_nvme/drivers/dssd/orders.py",
        "openpts_nvme/dssd/descriptors.py",
        "openpts_nvme/dssd/judge.py",
        "openpts_nvme/dssd/rules.py",
        "openpts_nvme/dssd/structures.py",
        "openpts_nvme/logs/page.py",
        "openpts_nvme/ocp/report.py",
        "openpts_web/site.py",
        "openpts/parameters/shipped_plans.py",
        "openpts_pages/plots/svg.py",
        "openpts_pages/plots/theme.py",
        "openpts/plugins.py",
        "openpts_pages/html.py",
        "openpts_pages/pdf.py",
    },
}
CHANGES_NAMES = {
    "openpts_check/drivers/own_folder.py": "files of its question, by the descriptor of their folder",
    "openpts_check/drivers/filer.py": "files that it has made, in its folder",
    "openpts/device/targets/scratch_file.py": "files that it made",
    "openpts_batch/cli/fleet_fetch.py": "a folder that it has fetched, from its name with a dot",
    "openpts/run_folder_files.py": "files of a run, a suite or a report, by the descriptor of their folder",
    "openpts/journal.py": "its own entries",
    "openpts/kept_files.py": "drawings that make room",
    "openpts_web/index.py": "an index of another version, among what is kept",
}
MAKES_FOLDERS = {
    "openpts_check/drivers/own_folder.py": "a new one of its own, in the directory that is asked about",
    "openpts_batch/executor.py": "a batch's",
    "openpts_sim/cli/tour.py": "of the tour, where none was",
    "openpts_traces/capture/tracefs.py": "a trace instance",
    "openpts_io/io.py": "for a capture",
    "openpts_compare/cli/self_test.py": "for a capture, in a folder that goes",
    "openpts_batch/cli/fleet_fetch.py": "where the operator wants runs from other hosts",
    "openpts_batch/fleet/host_side.py": "where the fleet file has a host's runs",
    "openpts/run_folder_files.py": "those below a run's, a suite's or a report's",
    "openpts/journal.py": "its own",
    "openpts/ownership.py": "that of owners' files",
    "openpts/kept_files.py": "for what is kept",
    "openpts/record/writer.py": "a run's",
    "openpts/output_files.py": "where the operator wants an output",
    "openpts/concerns/capture.py": "of a run, for its files",
    "openpts/runner/telemetry.py": "the samples of the host, below /dev",
    "openpts_web/index.py": "for indexes, among what is kept",
}
MAKES_TEMPORARY_FILES = {
    "openpts_drives/mounted/prepared_drive.py": "a folder to mount on",
    "openpts/record/spooling_writer.py": "a file without a name in a run folder, which holds space",
    "openpts/temporary_folder.py": "folders of a process: for schedules, models, metrics",
}
REMOVES_FOLDERS = {
    "openpts/record/spooling_writer.py": "a copy of a record that found no room there",
    "openpts/temporary_folder.py": "those that it has made in a process which was killed",
}
OPENS_DATABASES = {
    "openpts/record/database.py": "a record, once its files are known to be files",
    "openpts/record/writer.py": "a new record",
    "openpts_web/index.py": "the index of a library, among what is kept",
}
MAPS_FOR_READING = {
    "openpts_nvme/drivers/dssd/kernel_door.py": "a controller's registers, which sysfs has no file for"
}
SENDS_IOCTLS = {
    "openpts_traces/capture/blktrace.py": "tracing of a device on and off, by a descriptor for reading",
    "openpts/device/kernel_calls.py": "sizes; discard; the state of self-encrypting drives, and their revert",
    "openpts/device/nvme_admin.py": "admin commands, status of handles; the namespace's number",
}
CALLS_THE_C_LIBRARY = {
    "openpts/device/kernel_calls.py": "fallocate, statx",
    "openpts/device/nvme_admin.py": "buffers for its ioctl",
    "openpts_host/settings.py": "adjtimex, to read",
    "openpts/parent_process.py": "prctl, to end with the process that started it",
}
STARTS_PROCESSES = {
    "openpts_traces/capture/program.py": "the operator's own command",
    "openpts/programs.py": "all programs of others",
    "openpts_drives/listing.py": "a copy of this process, to ask a drive",
    "openpts_app/drivers/commands/command_process.py": "the operator's own command",
    "openpts_check/drivers/disk_programs.py": "programs of openpts, on descriptors that the guard has opened",
    "openpts_fio/engine/engine.py": "fio --version; fio, on the descriptor that the guard has opened",
    "openpts_host/services.py": "systemd-inhibit",
    "openpts_batch/side_by_side.py": "openpts itself, for each drive of a batch",
    "openpts_pages/plots/worker_processes.py": "copies of this process, to read runs and to draw",
    "openpts/concerns/operator_hooks.py": "the operator's own commands",
    "openpts/api.py": "openpts itself, with the words of a program",
    "openpts/cli/detach.py": "openpts itself, to go on without a terminal",
    "openpts_sim/cli/tour.py": "openpts itself",
    "openpts/runner/meter_command.py": "the operator's own command",
    "openpts_web/control.py": "openpts itself, with the consent that was typed",
}
CARRIES_OUT_PURGES = {"openpts/device/purge/purge.py": "a method, once marks were written to its target"}
MAKES_TARGETS = {
    "openpts/device/guard/guard.py": "for writing",
    "openpts/device/targets/scratch_file.py": "files, by way of the guard",
    "openpts/device/targets/reading.py": "for reading alone",
    "openpts_drives/mounted/directory.py": "for reading alone",
    "openpts/runner/unopened_target.py": "nothing is open",
}
# programs that can change a drive; those that only read are not listed
CHANGES_DRIVES = {
    "nvme": {
        "openpts_drives/purge/nvme_drive.py",  # nvme version, to see that it is there
        "openpts_drives/purge/nvme_purges.py",
    },
    "hdparm": {"openpts_drives/purge/ata_commands.py"},
    "sg_format": {"openpts_drives/purge/scsi.py"},
    "sg_sanitize": {"openpts_drives/purge/scsi.py"},
    "wipefs": {"openpts/device/guard/rules.py"},
    "mkfs.ext4": {"openpts_drives/mounted/prepared_drive.py"},
    "mkfs.xfs": {"openpts_drives/mounted/prepared_drive.py"},
    "mount": {"openpts_drives/mounted/prepared_drive.py"},
    "umount": {"openpts_drives/mounted/prepared_drive.py"},
    "losetup": {"openpts_drives/mounted/prepared_drive.py"},
    "fstrim": {"openpts_drives/mounted/prepared_drive.py"},
}
NEVER_RUN = {"dd", "blkdiscard", "sg_raw", "sg_unmap", "sg_write_same", "sg_wr_mode", "sdparm", "mkfs", "cp"}
NAMES_PROGRAMS_ONLY = {"openpts/programs.py", "openpts_host/software.py"}


def _modules(uses: Callable[[ast.AST], bool]) -> set[str]:
    return {name for name, of_module in nodes() if any(map(uses, of_module))}


def _is_of(node: ast.AST, module: str, names: Callable[[str], bool]) -> bool:
    """Whether it is ``module.NAME``."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == module
        and names(node.attr)
    )


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_flags_that_allow_writing_are_used_by_those_who_may() -> None:
    def writes(node: ast.AST) -> bool:
        return _is_of(node, "os", lambda name: name.startswith("O_") and name not in HARMLESS_FLAGS)

    assert _modules(writes) == set(OPENS_FOR_WRITING)


def test_flags_are_written_where_a_reader_sees_them() -> None:
    """No number, no name: what is not spelled out could be anything."""

    def hidden(node: ast.AST) -> bool:
        if not (isinstance(node, ast.Call) and _is_of(node.func, "os", lambda name: name == "open")):
            return False
        assert len(node.args) > 1, ast.unparse(node)
        spelled = [part for part in ast.walk(node.args[1]) if isinstance(part, ast.Attribute)]
        names = {part.value for part in spelled}
        parts = [part for part in ast.walk(node.args[1]) if isinstance(part, ast.Name | ast.Constant)]
        return any(part not in names for part in parts)

    assert _modules(hidden) == set(OPENS_WITH_FLAGS_FROM_ELSEWHERE)


def test_modules_that_reach_the_system_go_by_their_own_names() -> None:
    """Else the tables here would overlook them."""
    watched = {"os", "io", "fcntl", "ctypes", "mmap", "subprocess", "shutil", "_io", "posix"}
    watched |= {"multiprocessing", "asyncio", "pty", "tempfile", "sqlite3"}
    harmless = {("os", "fsdecode"), ("os", "PathLike"), ("io", "StringIO"), ("io", "BytesIO")}
    harmless |= {("multiprocessing.synchronize", "Event"), ("sqlite3", "Cursor")}
    for name, of_module in nodes():
        for node in of_module:
            if isinstance(node, ast.Import):
                assert not [a for a in node.names if a.name in watched and a.asname], name
            elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in watched:
                assert {(node.module, alias.name) for alias in node.names} <= harmless, name
    assert _modules(lambda node: _called(node) in {"__import__", "eval", "exec"}) == set()
    # commands, the exports of the package, plug-ins, parts of a test, the command line in its own process
    by_name = {"openpts/__init__.py", "openpts/procedures/kit/procedure.py"}
    by_name |= {"openpts_batch/drive_process.py", "openpts/plugins.py"}
    assert _modules(lambda node: _called(node) == "import_module") == by_name


def test_descriptors_are_written_to_by_those_who_may() -> None:
    calls = {"write", "writev", "pwrite", "pwritev", "sendfile", "copy_file_range", "splice"}
    sizes = {"truncate", "ftruncate", "posix_fallocate", "mknod"}

    def writes(node: ast.AST) -> bool:
        return _is_of(node, "os", lambda name: name in calls | sizes)

    assert _modules(writes) == set(WRITES_TO_DESCRIPTORS)


def _may_open_for_writing(call: ast.Call) -> bool:
    """A mode that is not spelled out could be any."""
    is_plain = isinstance(call.func, ast.Name) or _is_of(call.func, "io", lambda _name: True)
    by_place = call.args[1:2] if is_plain else call.args[:1]
    modes = [*by_place, *(keyword.value for keyword in call.keywords if keyword.arg in {"mode", None})]
    return any(not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wxa+") for mode in modes)


def test_files_are_written_by_name_by_those_who_may() -> None:
    def writes(node: ast.AST) -> bool:
        called = _called(node)
        if called in {"write_text", "write_bytes", "touch", "fdopen"}:
            return True
        if called != "open" or _is_of(getattr(node, "func", node), "os", lambda name: name == "open"):
            return False
        assert isinstance(node, ast.Call)
        return _may_open_for_writing(node)

    assert _modules(writes) == set(WRITES_FILES_BY_NAME)


def test_files_of_run_folders_are_opened_in_one_way() -> None:
    """Whatever else opens a file by its name is none that came with a run: it may be a pipe, or a link."""

    def opens(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        reads = {"read_bytes", "read_text"} if isinstance(node.func, ast.Attribute) else set()
        return _called(node) in {"open", *reads}

    listed = [module for modules in OPENS_BY_NAME.values() for module in modules]
    assert len(listed) == len(set(listed))
    assert _modules(opens) == set(listed)


def _is_name_change(node: ast.AST) -> bool:
    """``Path.replace`` takes one argument; that of texts takes two, those of records take names."""
    by_os = {"rename", "renames", "replace", "link", "symlink", "unlink", "remove"}
    if _is_of(node, "os", lambda name: name in by_os):
        return True
    called = _called(node)
    if called in {"rename", "unlink", "symlink_to", "hardlink_to"}:
        return True
    if not (called == "replace" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return len(node.args) == 1 and not node.keywords


def test_names_of_files_are_changed_by_those_who_may() -> None:
    assert _modules(_is_name_change) == set(CHANGES_NAMES)


@pytest.mark.parametrize(
    "call", ["p.replace(q)", "p.rename(q)", "p.unlink(missing_ok=True)", "p.symlink_to(q)"]
)
def test_a_path_that_gets_another_name_is_listed(call) -> None:
    assert _is_name_change(_call(call))


@pytest.mark.parametrize("call", ["t.replace('a', 'b')", "replace(r, a=1)", "structs.replace(r, a=1)"])
def test_what_is_replaced_in_a_text_or_a_record_is_no_name(call) -> None:
    assert not _is_name_change(_call(call))


def test_folders_are_made_by_those_who_may() -> None:
    assert _modules(lambda node: _called(node) in {"mkdir", "makedirs"}) == set(MAKES_FOLDERS)


def test_temporary_files_and_databases_have_their_modules() -> None:
    def of_module(module: str) -> set[str]:
        return _modules(lambda node: _is_of(node, module, lambda _name: True))

    assert of_module("tempfile") == set(MAKES_TEMPORARY_FILES)
    assert _modules(lambda node: _is_of(node, "sqlite3", lambda name: name == "connect")) == set(
        OPENS_DATABASES
    )


@pytest.mark.parametrize(
    "call", ["open(p, mode)", "io.open(p, m)", "p.open(m)", "p.open(mode=m)", "open(p, **m)"]
)
def test_a_mode_that_is_not_spelled_out_counts_as_writing(call) -> None:
    assert _may_open_for_writing(_call(call))


@pytest.mark.parametrize("call", ["open(p)", "open('w')", "p.open()", "p.open('rb')", "p.open(encoding=e)"])
def test_what_is_opened_for_reading_is_not_listed(call) -> None:
    assert not _may_open_for_writing(_call(call))


def _call(text: str) -> ast.Call:
    parsed = ast.parse(text, mode="eval").body
    assert isinstance(parsed, ast.Call)
    return parsed


def test_whole_folders_are_copied_or_removed_by_those_who_may() -> None:
    copies = _modules(lambda node: _is_of(node, "shutil", lambda name: name != "which"))
    assert copies == set(REMOVES_FOLDERS)


def test_ioctls_and_calls_of_the_c_library_have_their_modules() -> None:
    assert _modules(lambda node: _is_of(node, "fcntl", lambda name: name == "ioctl")) == set(SENDS_IOCTLS)
    assert _modules(lambda node: _is_of(node, "ctypes", lambda _name: True)) == set(CALLS_THE_C_LIBRARY)


def test_what_is_mapped_is_memory_and_no_file() -> None:
    for name, of_module in nodes():
        for node in of_module:
            if isinstance(node, ast.Call) and _is_of(node.func, "mmap", lambda called: called == "mmap"):
                access = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                is_read = name in MAPS_FOR_READING and access.get("access") == "mmap.ACCESS_READ"
                assert ast.unparse(node.args[0]) == "-1" or is_read, name


def test_processes_are_started_by_those_who_may() -> None:
    starting = {"Popen", "run", "call", "check_call", "check_output", "getoutput"}

    def starts(node: ast.AST) -> bool:
        by_os = ("exec", "spawn", "posix_spawn", "fork", "system", "popen")
        return (
            _is_of(node, "subprocess", lambda name: name in starting)
            or _is_of(node, "os", lambda name: name.startswith(by_os))
            or any(_is_of(node, module, lambda _name: True) for module in ("multiprocessing", "pty"))
            or _is_of(node, "asyncio", lambda name: "subprocess" in name)
            or "ProcessPoolExecutor" in {getattr(node, "attr", ""), getattr(node, "name", "")}
        )

    assert _modules(starts) == set(STARTS_PROCESSES)


@pytest.mark.parametrize("program", sorted(CHANGES_DRIVES))
def test_a_program_that_changes_drives_is_run_by_its_module(program) -> None:
    found = {name for name, words in _first_words().items() if program in words}
    assert found - NAMES_PROGRAMS_ONLY == CHANGES_DRIVES[program]


@cache
def _first_words() -> dict[str, set[object]]:
    """What may be the first words of commands, by module."""
    return {
        name: {
            node.elts[0].value
            for node in of_module
            if isinstance(node, ast.List | ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant)
        }
        for name, of_module in nodes()
    }


def test_other_programs_that_write_to_drives_are_not_run_at_all() -> None:
    def names(node: ast.AST) -> bool:
        """Also one of a family, as mkfs.btrfs is."""
        if not isinstance(node, ast.Constant) or node.value in CHANGES_DRIVES:
            return False
        return str(node.value).partition(".")[0] in NEVER_RUN

    assert _modules(names) == set()


def test_wipefs_is_told_to_leave_everything_as_it_is() -> None:
    assert '"wipefs", "--no-act"' in (PACKAGES / "openpts/device/guard/rules.py").read_text()


def test_an_open_target_is_made_by_the_guard_or_for_reading() -> None:
    assert _modules(lambda node: _called(node) == "OpenTarget") == set(MAKES_TARGETS)


def test_a_purge_is_carried_out_by_those_who_may() -> None:
    def carries_out(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "carry_out"

    assert _modules(carries_out) == set(CARRIES_OUT_PURGES)


# what opens something by its name, in the standard library and in the crates that are used
RUST_OPENS = re.compile(
    r"OpenOptions::new|tempfile::tempfile|\bFile::(create|open|options)|fs::(write|copy|rename|remove_file|openat|open)\b"
    r"|libc::(open|openat|creat)\b|opcode::Open|process::Command"
)
RUST_OPENS_BY_NAME = {
    "trace/src/live/sink.rs": "the file of a capture",
    "trace/src/capture/destination.rs": "Parquet files in the run folder",
    "core/src/workload/schedule/format.rs": "schedules, for reading",
    "core/src/engine/slow.rs": "the scheduler's counts of the thread itself, in procfs, for reading",
    "core/src/machine/device_files.rs": "the kernel's count of what the driver has, in sysfs, for reading",
    "python/src/schedule.rs": "new schedules, in a folder of the process",
    "trace/src/canonical/parquet_file.rs": "a trace, to read; a nameless copy of what comes from a pipe",
    "trace/src/open/files.rs": "a trace, to read",
    "trace/src/open/fingerprint.rs": "a trace, to read",
    "trace/src/open/tar_members.rs": "a trace, to read",
    "trace/src/order/external.rs": "a file without a name, to sort in",
}


def _rust_without_tests() -> Iterator[tuple[str, str]]:
    declared = re.compile(r"#\[cfg\([^\n]*\btest\b[^\n]*\]\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);")
    sources = sorted(RUST.glob("*/src/**/*.rs"))
    tests = {
        path.parent / found
        for path in sources
        if path.name in {"mod.rs", "lib.rs"}
        for found in declared.findall(path.read_text())
    }
    for path in sources:
        if any(path == test.with_suffix(".rs") or test in path.parents for test in tests):
            continue
        # tests of a module stand at its end
        yield path.relative_to(RUST).as_posix(), re.split(r"#\[cfg\([^\n]*\btest\b", path.read_text())[0]


def test_the_engine_gets_descriptors_and_opens_nothing_by_name() -> None:
    opening = {name for name, text in _rust_without_tests() if RUST_OPENS.search(text)}
    assert opening == set(RUST_OPENS_BY_NAME)
