// The runs of this library and of files that were opened beside it, their measures, and DuckDB when it is asked for.

const library = { runs: [], byName: new Map(), opened: { runs: [], measures: [], deviations: [] } };
const chosen = new Set();

const cellText = (name, value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return name === "started_at" ? text.slice(0, 16).replace("T", " ") : text;
};

const labelsOf = (run) => Object.entries(run.labels ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));

const known = (run) => {
  run.words = [...Object.keys(index.columns).map((name) => cellText(name, run[name])), run.profile, run.operator,
    run.host, run.mark, ...labelsOf(run).map(([name, value]) => `${name}=${value}`)].join("\n").toLowerCase();
  library.byName.set(run.run, run);
  library.runs.push(run);
};

const rowsOf = async (file) => parquetReadObjects({ file });
const blockOf = once(async (name) => rowsOf(await fileOf(name)));

const openLibrary = async () => {
  for (const [place, run] of (await rowsOf(await fileOf("data/runs.parquet"))).entries()) {
    run.block = index.measures[Math.floor(place / index.block)];
    known(run);
  }
  library.runs.sort(byBegin);
};

const byBegin = (one, other) => (one.started_at === other.started_at ? (one.run < other.run ? 1 : -1) : one.started_at < other.started_at ? 1 : -1);

const measuresOf = async (run) => {
  const rows = run.block ? await blockOf(run.block) : library.opened.measures;
  return rows.filter((row) => row.run === run.run);
};

const deviationsOf = async (run) => {
  const rows = run.block ? await blockOf("data/deviations.parquet") : library.opened.deviations;
  return rows.filter((row) => row.run === run.run);
};

// Parquet files of another library, by their names; runs that are here already are left alone.
const openBeside = async (files) => {
  const found = { runs: [], measures: [], deviations: [] };
  for (const file of files) {
    const table = /^(runs|measures|deviations)(-\d+)?\.parquet$/.exec(file.name)?.[1];
    if (table) found[table].push(...(await rowsOf(await file.arrayBuffer())));
  }
  const strange = found.runs.find((run) => library.byName.has(run.run) && library.byName.get(run.run).origin !== run.origin);
  if (strange) throw new Error(`two runs have the ID ${strange.run}: IDs must be unique, see openpts run --run-id`);
  const added = found.runs.filter((run) => !library.byName.has(run.run));
  if (!found.runs.length) throw new Error("no runs.parquet among these files: choose all files of a library's folder data");
  const names = new Set(added.map((run) => run.run));
  for (const run of added) known({ ...run, report: null });
  for (const table of Object.keys(found)) library.opened[table].push(...found[table].filter((row) => names.has(row.run)));
  library.runs.sort(byBegin);
  database.restart();
  valuesOf.forget();
  return `${counted(added.length, "run")} of these files beside those of this library; ${found.runs.length - added.length} were here already`;
};

// DuckDB in a worker of its own. Tables are handed to it as files, and it says what became of them.
const database = (() => {
  let ready = null;
  const start = async (said) => {
    said("Loading DuckDB ...");
    const [code, wasm] = await Promise.all(["pages/worker.js.gz", "pages/duckdb.wasm.gz"].map(fileOf));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(url);
    const waiting = new Map();
    worker.onmessage = ({ data }) => {
      const { done, failed } = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) failed(new Error(data.error));
      else done(data.answer);
    };
    const ask = (message, handed = []) =>
      new Promise((done, failed) => {
        const id = Math.random();
        waiting.set(id, { done, failed });
        worker.postMessage({ id, ...message }, handed);
      });
    await ask({ wasm, tables: index.tables }, [wasm]);
    URL.revokeObjectURL(url);
    const names = ["data/runs.parquet", "data/deviations.parquet", ...index.measures];
    let loaded = 0;
    await eachOf(names, 6, async (name) => {
      const file = await fileOf(name);
      await ask({ table: /^data\/([a-z]+)/.exec(name)[1], file }, [file]);
      said(`Loading tables: ${++loaded} of ${names.length} files`);
    });
    for (const [table, rows] of Object.entries(library.opened)) if (rows.length) await ask({ table, rows });
    await ask({ finished: true });
    said("");
    return { ask, worker };
  };
  return {
    query: async (sql, said = () => {}) => {
      ready ??= start(said).catch((error) => { ready = null; throw error; });
      return (await ready).ask({ sql });
    },
    restart: () => {
      ready?.then(({ worker }) => worker.terminate());
      ready = null;
    },
  };
})();

const eachOf = async (items, atOnce, act) => {
  const left = items.values();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const item of left) await act(item);
  }));
};
