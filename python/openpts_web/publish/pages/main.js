// Which page is shown: what stands behind # in the address.

const status = () => {
  const line = element("p", { class: "status faint", role: "status" });
  const place = element("div");
  const say = (text) => { (line.isConnected ? line : document.querySelector(".status") ?? line).textContent = text; };
  const later = (make) => attempt({ say }, async () => place.replaceChildren(...(await make()).filter(Boolean)));
  return { line, place, say, later };
};

const attempt = async (said, act) => {
  try {
    await act();
  } catch (error) {
    said.say(`This does not work: ${error.message}`);
  }
};

const showChosen = () => { document.getElementById("chosen").textContent = chosen.size ? `(${chosen.size})` : ""; };

const PAGES = {
  "": (words, state) => listPage(state),
  run: (words) => runPage(words),
  compare: (words) => comparePage(words),
  plot: (words, state) => plotPage(state),
  sql: (words, state) => sqlPage(state),
};

let turns = 0;

const show = async () => {
  const turn = ++turns;
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...words] = path.split("/").map(decodeURIComponent);
  const main = document.getElementById("main");
  const shown = await (PAGES[page] ?? PAGES[""])(words, new URLSearchParams(query ?? ""));
  if (turn !== turns) return;
  main.replaceChildren(...shown.filter(Boolean));
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${main.querySelector("h1").textContent} - openpts`;
  showChosen();
};

const failing = (error) => {
  const line = element("p", { class: "mark", role: "alert" }, `This page can't be shown: ${error.message}`);
  document.getElementById("main").prepend(line);
};

addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  show().then(() => { scrollTo(0, 0); document.getElementById("main").focus({ preventScroll: true }); }, failing);
});
dark.addEventListener("change", () => { if (location.hash.startsWith("#/plot")) show(); });
openLibrary().then(show).catch(failing);
