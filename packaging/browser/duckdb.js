// The worker of published pages: DuckDB in its own thread, Arrow to hand it tables, a reader of Parquet.
import * as arrow from "apache-arrow";
import { parquetRead } from "hyparquet";
// The package's map of exports has no blocking build for browsers, though it ships one.
import {
  BROWSER_RUNTIME,
  VoidLogger,
  createDuckDB,
} from "./node_modules/@duckdb/duckdb-wasm/dist/duckdb-browser-blocking.mjs";

globalThis.libraries = { BROWSER_RUNTIME, VoidLogger, arrow, createDuckDB, parquetRead };
