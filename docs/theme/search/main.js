// Search of a manual that is read from a disk: without a server a browser starts no worker and reads no JSON, but
// it runs scripts. The index is one (docs/manual_site.py), and is loaded on the page of results alone.
(function () {
  const results = document.getElementById("mkdocs-search-results");
  const input = document.getElementById("mkdocs-search-query");
  if (!results || !input) return;

  function load(name) {
    return new Promise(function (done, failed) {
      const script = document.createElement("script");
      script.src = base_url + "/search/" + name;
      script.onload = done;
      script.onerror = failed;
      document.head.append(script);
    });
  }

  function found(page) {
    const article = document.createElement("article");
    const link = document.createElement("a");
    link.href = base_url + "/" + page.location;
    link.textContent = page.title;
    article.append(document.createElement("h3"), document.createElement("p"));
    article.firstChild.append(link);
    article.lastChild.textContent = page.text.slice(0, 200);
    return article;
  }

  Promise.all([load("lunr.js"), load("search_index.js")]).then(function () {
    const pages = new Map(search_index.docs.map((page) => [page.location, page]));
    const index = lunr(function () {
      this.ref("location");
      this.field("title", { boost: 5 });
      this.field("text");
      pages.forEach((page) => this.add(page));
    });

    function show() {
      const words = lunr.tokenizer(input.value).map(String).filter(Boolean);
      const hits = index.query(function (query) {
        words.forEach((word) => query.term(lunr.stemmer(new lunr.Token(word)).toString(), { presence: 2 }));
      });
      results.replaceChildren(...(words.length ? hits : []).map((hit) => found(pages.get(hit.ref))));
      if (!results.children.length) results.textContent = results.dataset.noResultsText;
    }

    input.addEventListener("input", show);
    input.value = new URLSearchParams(location.search).get("q") || "";
    show();
  });
})();
