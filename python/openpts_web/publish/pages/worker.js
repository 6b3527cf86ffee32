// DuckDB in a thread of its own: takes tables as Parquet or as rows, answers SQL. It reads nothing by itself.
"use strict";

const { BROWSER_RUNTIME, VoidLogger, createDuckDB, parquetRead } = libraries;
let database = null;
let connection = null;
let tables = {};

const SQL_TYPES = { string: "VARCHAR", int64: "BIGINT", float64: "DOUBLE", bool: "BOOLEAN" };

const start = async (wasm) => {
  const mainModule = URL.createObjectURL(new Blob([wasm], { type: "application/wasm" }));
  const bundle = { mainModule, mainWorker: null };
  database = await createDuckDB({ mvp: bundle, eh: bundle }, new VoidLogger(), BROWSER_RUNTIME);
  await database.instantiate(() => {});
  database.open({ query: { castDecimalToDouble: true, castTimestampToDate: false } });
  connection = database.connect();
  for (const name of ["autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"]) connection.query(`SET ${name} = false`);
  connection.query("SET lock_configuration = true");
  for (const [name, columns] of Object.entries(tables)) {
    const declared = Object.entries(columns).filter(([, type]) => SQL_TYPES[type]);
    connection.query(`CREATE TABLE all_${name} (${declared.map(([column, type]) => `"${column}" ${SQL_TYPES[type]}`)})`);
    if (name !== "runs") connection.query(`CREATE VIEW ${name} AS FROM all_${name}`);
  }
  connection.query("CREATE TABLE all_labels (run VARCHAR, label VARCHAR, text VARCHAR)");
};

// Once all are here: runs with their labels as in the archive.
const finish = () => {
  const fields = Object.keys(tables.runs).map((name) => (name === "labels" ? "coalesce(labels, MAP {}) AS labels" : name));
  connection.query(`CREATE TABLE runs AS SELECT ${fields} FROM all_runs LEFT JOIN (
    SELECT run, map(list(label ORDER BY label), list(text ORDER BY label)) AS labels FROM all_labels GROUP BY run) USING (run)`);
};

// As texts, of which DuckDB makes numbers to the last digit; JSON's reader does not.
const insert = (name, types, columns) => {
  if (!columns.run?.length) return;
  const names = Object.keys(types);
  const text = (value) => (value === null || value === undefined ? null : String(value));
  const rows = columns.run.map((_, place) => Object.fromEntries(names.map((column) => [column, text(columns[column][place])])));
  database.registerFileText("arriving", JSON.stringify(rows));
  const columnsFlat = names.map((column) => ({ name: column, sqlType: "utf8", nullable: true }));
  connection.insertJSONFromPath("arriving", { name: "arriving", schema: "main", create: true, shape: "row-array", columnsFlat });
  connection.query(`INSERT INTO ${name} FROM arriving`);
  connection.query("DROP TABLE arriving");
  database.dropFile("arriving");
};

const read = async (file) => {
  const columns = {};
  const onChunk = ({ columnName, columnData }) => {
    columns[columnName] = columns[columnName] ? columns[columnName].concat(Array.from(columnData)) : Array.from(columnData);
  };
  await parquetRead({ file, onChunk });
  return columns;
};

const take = (table, columns) => {
  const types = Object.fromEntries(Object.entries(tables[table]).filter(([, type]) => SQL_TYPES[type]));
  insert(`all_${table}`, types, columns);
  if (!columns.labels) return;
  const labels = { run: [], label: [], text: [] };
  columns.labels.forEach((of, place) => {
    for (const [label, text] of Object.entries(of ?? {})) {
      labels.run.push(columns.run[place]);
      labels.label.push(label);
      labels.text.push(text);
    }
  });
  insert("all_labels", { run: "string", label: "string", text: "string" }, labels);
};

const plain = (value, type) => {
  if (value === null || value === undefined) return null;
  const kind = String(type);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (kind.startsWith("Timestamp")) return new Date(Number(value)).toISOString();
  if (kind.startsWith("Date")) return new Date(Number(value)).toISOString().slice(0, 10);
  return typeof value === "object" ? JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? Number(inner) : inner)) : value;
};

const answer = (sql) => {
  const found = connection.query(sql);
  const columns = found.schema.fields.map((field, place) => {
    const vector = found.getChildAt(place);
    return Array.from({ length: found.numRows }, (_, row) => plain(vector.get(row), field.type));
  });
  const names = found.schema.fields.map((field) => field.name);
  return { columns: names, rows: Array.from({ length: found.numRows }, (_, row) => columns.map((values) => values[row])) };
};

const done = async (message) => {
  if (message.wasm) {
    tables = message.tables;
    await start(message.wasm);
  } else if (message.file) take(message.table, await read(message.file));
  else if (message.finished) finish();
  else return answer(message.sql);
  return null;
};

onmessage = async ({ data }) => {
  try {
    postMessage({ id: data.id, answer: await done(data) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error?.message ?? error) });
  }
};
