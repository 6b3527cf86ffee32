# What published pages need in the browser: DuckDB, Arrow and a reader of Parquet. npm compares each with the
# checksum in package-lock.json; no script of a package is run.

BROWSER := python/openpts_web/publish/browser

.PHONY: browser
browser: $(BROWSER)/.made  ## DuckDB for `openpts publish`, from npm (8 MB; needs node)

$(BROWSER)/.made: $(wildcard packaging/browser/*) packaging/browser.mk
	@command -v npm >/dev/null || { echo "openpts publish needs npm once: apt-get install npm"; exit 1; }
	@mkdir -p build/browser $(BROWSER)
	cp packaging/browser/* build/browser
	cd build/browser && npm ci --ignore-scripts --no-audit --no-fund --silent
	cd build/browser && for name in duckdb parquet; do node_modules/.bin/esbuild $$name.js --bundle --minify --format=iife \
	  --platform=browser --legal-comments=inline --log-level=warning --outfile=$(CURDIR)/$(BROWSER)/$$name.js || exit 1; done
	cp packaging/browser/duckdb-wasm.license build/browser/node_modules/@duckdb/duckdb-wasm/LICENSE  # the package lacks it
	cd build/browser/node_modules && for name in @duckdb/duckdb-wasm apache-arrow flatbuffers hyparquet tslib; do \
	  printf '%s\n\n' "$$name, $$(sed -n 's/^ *"version": "\(.*\)".*/\1/p' $$name/package.json)"; cat $$name/LICENSE* || exit 1; echo; \
	  done > $(CURDIR)/$(BROWSER)/licenses.txt
	gzip -9nf < $(BROWSER)/duckdb.js > $(BROWSER)/duckdb.js.gz && rm $(BROWSER)/duckdb.js
	gzip -9nf < build/browser/node_modules/@duckdb/duckdb-wasm/dist/duckdb-eh.wasm > $(BROWSER)/duckdb.wasm.gz
	@touch $@
