// Published pages read the list of runs without DuckDB.
import { parquetReadObjects } from "hyparquet";

globalThis.parquetReadObjects = parquetReadObjects;
