// DuckDB in a thread of its own: takes tables as Parquet, answers SQL. It reads nothing by itself.
"use strict";

const { BROWSER_RUNTIME, VoidLogger, arrow, createDuckDB, parquetRead } = libraries;
let connection = null;
let tables = {};

const SQL_TYPES = { string: "VARCHAR", int64: "BIGINT", float64: "DOUBLE", bool: "BOOLEAN" };

const start = async (wasm) => {
  const mainModule = URL.createObjectURL(new Blob([wasm], { type: "application/wasm" }));
  const bundle = { mainModule, mainWorker: null };
  const database = await createDuckDB({ mvp: bundle, eh: bundle }, new VoidLogger(), BROWSER_RUNTIME);
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

const nullsOf = (values) => {
  const bitmap = new Uint8Array(Math.ceil(values.length / 64) * 8);
  let nullCount = 0;
  values.forEach((value, place) => {
    if (value === null || value === undefined) nullCount++;
    else bitmap[place >> 3] |= 1 << (place & 7);
  });
  return { length: values.length, nullCount, nullBitmap: bitmap };
};

// Arrow's own builders compile code from texts, which the page's policy forbids.
const texts = (values) => {
  const encoder = new TextEncoder();
  const parts = values.map((value) => encoder.encode(value));
  const valueOffsets = new Int32Array(parts.length + 1);
  parts.forEach((part, place) => { valueOffsets[place + 1] = valueOffsets[place] + part.length; });
  const data = new Uint8Array(valueOffsets[parts.length]);
  parts.forEach((part, place) => data.set(part, valueOffsets[place]));
  return arrow.makeData({ type: new arrow.Utf8(), length: parts.length, nullCount: 0, valueOffsets, data });
};

const words = (values) => {
  const numbers = new Map();
  const data = Int32Array.from(values, (value) => {
    if (value === null || value === undefined) return 0;
    if (!numbers.has(value)) numbers.set(value, numbers.size);
    return numbers.get(value);
  });
  const dictionary = new arrow.Vector([texts(numbers.size ? [...numbers.keys()] : [""])]);
  return arrow.makeData({ type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), ...nullsOf(values), data, dictionary });
};

const DATA = {
  string: words,
  int64: (values) => arrow.makeData({ type: new arrow.Int64(), ...nullsOf(values), data: BigInt64Array.from(values, (value) => BigInt(value ?? 0)) }),
  float64: (values) => arrow.makeData({ type: new arrow.Float64(), ...nullsOf(values), data: Float64Array.from(values, (value) => value ?? 0) }),
  bool: (values) => {
    const data = new Uint8Array(Math.ceil(values.length / 64) * 8);
    values.forEach((value, place) => { if (value) data[place >> 3] |= 1 << (place & 7); });
    return arrow.makeData({ type: new arrow.Bool(), ...nullsOf(values), data });
  },
};

const insert = (name, types, columns) => {
  if (!columns.run?.length) return;
  const vectors = Object.entries(types).map(([column, type]) => [column, new arrow.Vector([DATA[type](columns[column])])]);
  const stream = arrow.tableToIPC(new arrow.Table(Object.fromEntries(vectors)), "stream");
  connection.insertArrowFromIPCStream(stream, { name, create: false });
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
