"""An archive as tables of DuckDB: the newest entry of each run, and the files of those that are selected."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from openpts.errors import RecordError, UsageError
from openpts.record.frames import arrow_table
from openpts.report.arrow_files import MEASURE_COLUMNS
from openpts_many.archive.catalogue import catalogue_files
from openpts_many.archive.store import Store, missing_packages
from openpts_many.archive.tables import CATALOGUE_COLUMNS, RUN_VIEW, columns_of_archive

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection, Expression

_ENTRIES: Final = """read_parquet(
    getvariable('catalogue'), filename = true, file_row_number = true, union_by_name = true)"""
_OLD: Final = f"""
CREATE TEMP TABLE old AS SELECT filename, file_row_number FROM (
    SELECT filename, file_row_number,
           row_number() OVER (PARTITION BY run ORDER BY added_at DESC, folder DESC, filename) AS place
    FROM {_ENTRIES}) WHERE place > 1
"""  # noqa: S608 our names
_NEWEST: Final = f"CREATE TEMP VIEW newest AS SELECT * EXCLUDE (filename, file_row_number) FROM {_ENTRIES}"  # noqa: S608 likewise
_BUT_OLD: Final = " ANTI JOIN old USING (filename, file_row_number)"


class Engine:
    """DuckDB with a view of each table, over the runs that a condition selects.

    It reads the files of the archive and nothing else, and writes none, whatever it is asked. Raises
    UsageError for a condition that is not one expression, and without DuckDB.
    """

    def __init__(self, store: Store, where: str | None) -> None:
        try:
            import duckdb  # noqa: PLC0415 a package that only archives need
        except ImportError:
            raise missing_packages() from None
        self._store = store
        self._connection: DuckDBPyConnection = duckdb.connect()
        # laboratories have no internet: what is not built in is not looked for
        self._connection.execute("SET autoinstall_known_extensions = false")
        self._connection.execute("SET enable_progress_bar = false")  # it would be among the answers
        store.prepare(self._connection)
        self._shut_in()
        self._select(where)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement. Raises RecordError where the archive can't be read."""
        with _told():
            found: list[tuple[Any, ...]] = self._connection.execute(sql, list(parameters)).fetchall()
        return found

    def table(self, sql: str) -> "pyarrow.Table":
        """The same rows as a table of Arrow, for what goes on to work with all of them."""
        with _told():
            return self._connection.sql(sql).to_arrow_table()

    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and rows of what an operator asks. Raises UsageError for anything but one SELECT."""
        import duckdb  # noqa: PLC0415 as above

        with _told("can't carry out --sql"):
            statements = self._connection.extract_statements(sql)
            if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                raise UsageError("--sql takes one SELECT; `openpts archive add` alone changes an archive")
            for name in columns_of_archive():
                if name in sql:
                    self.open_table(name)
            cursor = self._connection.execute(statements[0])
            return [column[0] for column in cursor.description or ()], cursor.fetchall()

    def expression(self, text: str, option: str) -> "Expression":
        """What an operator wrote, as one expression of SQL. Raises UsageError for anything else."""
        import duckdb  # noqa: PLC0415 as above

        with _told(f"can't use {option} {text}, which takes {', '.join(RUN_VIEW)}"):
            return duckdb.SQLExpression(text)

    def _shut_in(self) -> None:
        """Before the first word of an operator: no other file, no extension, no variable of this program."""
        self._connection.execute("SET python_enable_replacements = false")
        self._connection.execute("SET allowed_directories = ?", [[f"{self._store.url('')}/"]])
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def open_table(self, name: str) -> None:
        """Make the view ``name`` of the selected runs' files of that table, if it is not there yet."""
        if name in {"runs", "measures"}:
            return
        folders = self.rows("SELECT folder FROM selected WHERE list_contains(file_table, ?)", [name])
        [(several,)] = self.rows("SELECT count(DISTINCT archive_version) > 1 FROM selected")
        names = [self._store.url(f"{folder}/{name}.parquet") for (folder,) in folders]
        with _told():
            if names:
                # all files are looked at for columns only where a version may have added some
                files = self._connection.read_parquet(names, hive_partitioning=False, union_by_name=several)
                files.create_view(name)
            else:
                self._connection.register(name, arrow_table(columns_of_archive()[name], []))

    def _select(self, where: str | None) -> None:
        files = [self._store.url(name) for name in catalogue_files(self._store)]
        with _told():
            if files:
                self._connection.execute("SET VARIABLE catalogue = ?", [files])
                self._connection.execute(_OLD)
                [(has_old,)] = self._connection.execute("SELECT count(*) FROM old").fetchall()
                self._connection.execute(_NEWEST + (_BUT_OLD if has_old else ""))
            else:
                self._connection.register("newest", arrow_table(CATALOGUE_COLUMNS, []))
        selected = self._connection.table("newest")
        if where is not None:
            with _told(f"can't use --where {where}, which takes {', '.join(RUN_VIEW)}"):
                selected = selected.filter(self.expression(where, "--where"))
        selected.create_view("selected")
        fields = ", ".join(RUN_VIEW)
        lists = ", ".join(f"unnest(measure_{name}) AS {name}" for name in MEASURE_COLUMNS)
        with _told():
            self._connection.execute(f"CREATE TEMP VIEW runs AS SELECT {fields} FROM selected")  # noqa: S608 our names
            self._connection.execute(f"CREATE TEMP VIEW measures AS SELECT run, {lists} FROM selected")  # noqa: S608 our names


@contextmanager
def _told(whose: str = "") -> Iterator[None]:
    """Complaints of DuckDB as errors: of the operator's words where they can be wrong, or of the archive."""
    import duckdb  # noqa: PLC0415 as above

    try:
        yield
    except (duckdb.IOException, duckdb.HTTPException) as error:
        raise RecordError(f"can't read the archive: {error}; see `openpts archive check`") from error
    except duckdb.Error as error:
        if not whose:
            raise RecordError(f"can't read the archive: {error}; see `openpts archive check`") from error
        raise UsageError(f"{whose}: {str(error).splitlines()[0]}") from error
