# What others install: wheels, a wheelhouse, one file, Debian packages, a container; and the tests that each can be used.

VERSION  := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
ARCHS    ?= x86_64 aarch64
PACKER   := build/packer/bin
DIST     := build/dist
WHEEL     = openpts-$(VERSION)-cp311-abi3-manylinux2014_$1.manylinux_2_17_$1.whl
HOUSE     = build/wheelhouse/$1/.made
SHIPPED  := $(shell find python -type f -not -name '*.pyc' -not -name '*.so') pyproject.toml LICENSE README.md
PYTHONS  := 3.11 3.12 3.13 3.14

.PHONY: wheels wheelhouse pyz deb container install-bookworm install-trixie install-aarch64 install-deb install-units

$(PACKER)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/packer
	$(PACKER)/pip install --quiet --upgrade --constraint constraints.txt pip
	$(PACKER)/pip install --quiet --constraint constraints.txt --group packagers
	@touch $@

wheels: $(foreach arch,$(ARCHS),$(DIST)/$(call WHEEL,$(arch)))  ## build/dist: wheels for any glibc from 2.17 on and any Python from 3.11 on; ARCHS=x86_64: one of the two

# With zig as C compiler and linker, which knows the symbols of old versions of glibc and has all processors.
$(DIST)/openpts-%.whl: $(PACKER)/.made $(SOURCES) $(SHIPPED)
	arch=$(lastword $(subst _17_, ,$*)); export PATH="$(CURDIR)/$(PACKER):$$PATH"; set -e; \
	[ -d "$$(rustc --print target-libdir --target $$arch-unknown-linux-gnu)" ] \
	  || { echo "Rust has no $$arch: rustup target add $$arch-unknown-linux-gnu"; exit 1; }; \
	maturin build --quiet --release --locked --zig --target $$arch-unknown-linux-gnu --compatibility manylinux2014 --out $(DIST); \
	auditwheel show $@ | grep -F "\"manylinux_2_17_$$arch\""; \
	abi3audit --strict --summary $@

wheelhouse: $(foreach arch,$(ARCHS),$(call HOUSE,$(arch)))  ## build/wheelhouse: the wheels with all that they need, for installation without network

build/wheelhouse/x86_64/.made: $(DIST)/$(call WHEEL,x86_64) constraints.txt
build/wheelhouse/aarch64/.made: $(DIST)/$(call WHEEL,aarch64) constraints.txt
build/wheelhouse/%/.made:
	rm -rf $(@D)
	set -e; for python in $(PYTHONS); do $(PACKER)/pip download --quiet --only-binary :all: --constraint constraints.txt \
	  --dest $(@D) --python-version $$python --platform manylinux2014_$* --platform manylinux_2_17_$* $<; done
	@touch $@

build/debian/%.tar:
	packaging/debian-tree $*

install-bookworm install-trixie: install-%: $(call HOUSE,x86_64) build/debian/%.tar
	packaging/in-debian $* check-wheelhouse
install-bookworm:  ## wheelhouse, a test and its report in Debian 12 without network; as root, with debootstrap
install-trixie:  ## the same in Debian 13

# What runs the host's wheel, for pages and completions that are made of the commands themselves.
$(PACKER)/openpts: $(PACKER)/.made $(call HOUSE,$(shell uname -m))
	$(PACKER)/pip install --quiet --force-reinstall --no-index --find-links build/wheelhouse/$(shell uname -m) openpts
	@touch $@

build/man: $(PACKER)/openpts
	rm -rf $@
	$(PACKER)/click-man openpts --target $@ --man-version $(VERSION)
	gzip -9n $@/*

build/completions: $(PACKER)/openpts packaging/completion/table.py
	$(PACKER)/python packaging/completion/table.py >$@

SUITES ?= bookworm trixie
deb: wheelhouse build/man build/completions  ## build/dist: packages for Debian 12 and 13, with pages and completions
	set -e; for suite in $(SUITES); do for arch in $(ARCHS); do packaging/deb $$suite $$arch; done; done

install-deb: build/debian/bookworm.tar build/debian/trixie.tar  ## installation, upgrade, removal and purge of the packages of make deb
	$(MAKE) deb ARCHS=x86_64
	set -e; for suite in $(SUITES); do packaging/in-debian $$suite check-deb; done
