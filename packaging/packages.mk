# What others install: wheels, a wheelhouse, one file, Debian packages, a container; and the tests that each can be used.

VERSION  := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
ARCHS    ?= x86_64 aarch64
PACKER   := build/packer/bin
DIST     := build/dist
WHEEL     = openpts-$(VERSION)-cp311-abi3-manylinux2014_$1.manylinux_2_17_$1.whl
HOUSE     = build/wheelhouse/$1/.made
SHIPPED  := $(shell find packages/openpts* -type f -not -path '*/tests/*' -not -path '*/docs/*' -not -name '*.pyc' -not -name '*.so') pyproject.toml LICENSE README.md
PYTHONS  := 3.11 3.12 3.13 3.14
HOST     := $(shell uname -m)
# requirements.txt in a folder of wheels: each by name and version with the hashes of its files, for pip --require-hashes
HASHES    = cd $1 && sha256sum *.whl | awk '{split($$2, name, "-"); pin = name[1] "==" name[2]; hashes[pin] = hashes[pin] " --hash=sha256:" $$1} \
  END {for (pin in hashes) print pin hashes[pin]}' | sort >requirements.txt

.PHONY: wheels wheelhouse pyz deb install-bookworm install-trixie install-sample install-aarch64 install-deb install-units install-container install-pyz

$(PACKER)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/packer
	grep '^pip==' constraints.txt >build/packer/pip.txt
	$(PACKER)/pip install --quiet --require-hashes --requirement build/packer/pip.txt
	$(PACKER)/pip install --quiet --constraint constraints.txt --group packagers
	@touch $@

wheels: $(foreach arch,$(ARCHS),$(DIST)/$(call WHEEL,$(arch)))  ## build/dist: wheels for any glibc from 2.17 on and any Python from 3.11 on; ARCHS=x86_64: one of the two

# With zig as C compiler and linker, which knows the symbols of old versions of glibc and has all processors.
$(DIST)/openpts-%.whl: $(PACKER)/.made $(SOURCES) $(SHIPPED)
	arch=$(lastword $(subst _17_, ,$*)); export PATH="$(CURDIR)/$(PACKER):$$PATH"; set -e; \
	target=$$arch-unknown-linux-gnu; [ -d "$$(rustc --print target-libdir --target $$target)" ] || rustup target add $$target \
	  || { echo "$$(rustc --version) has no standard library for $$target, and rustup could not fetch one"; exit 1; }; \
	maturin build --quiet --release --locked --zig --target $$target --compatibility manylinux2014 --out $(DIST); \
	auditwheel show $@ | grep -F "\"manylinux_2_17_$$arch\""; \
	abi3audit --strict --summary $@

wheelhouse: $(foreach arch,$(ARCHS),$(call HOUSE,$(arch)))  ## build/wheelhouse: the wheels with all that they need, for installation without network

build/wheelhouse/x86_64/.made: $(DIST)/$(call WHEEL,x86_64) constraints.txt
build/wheelhouse/aarch64/.made: $(DIST)/$(call WHEEL,aarch64) constraints.txt
build/wheelhouse/%/.made:
	rm -rf $(@D)
	set -e; for python in $(PYTHONS); do $(PACKER)/pip download --quiet --only-binary :all: --no-require-hashes \
	  --constraint constraints.txt --dest $(@D) --python-version $$python --platform manylinux2014_$* --platform manylinux_2_17_$* \
	  $< setuptools; done
	$(call HASHES,$(@D))
	@touch $@

# What a notebook needs beyond it, as a reader would fetch it; no version is pinned, as the reader's is not.
build/pypi/.made: $(PACKER)/.made
	rm -rf $(@D)
	set -e; for python in 3.11 3.13; do $(PACKER)/pip download --quiet --only-binary :all: --dest $(@D) --python-version $$python \
	  --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 jupyterlab jupytext pandas; done
	@touch $@

build/debian/%.tar:
	packaging/debian-tree $(subst -, ,$*)

build/debian/trixie-systemd.tar:
	packaging/debian-tree trixie "" systemd,dbus,libpam-systemd

install-bookworm install-trixie: install-%: $(call HOUSE,x86_64) build/pypi/.made build/debian/%.tar
	packaging/in-debian $* check-paths wheelhouse/x86_64
install-bookworm:  ## each way of docs/install.md to a first result, in Debian 12 without network; as root, with debootstrap
install-trixie:  ## the same in Debian 13

install-aarch64: $(call HOUSE,aarch64) build/debian/bookworm-arm64.tar  ## a test and its report in Debian 12 for aarch64, emulated by qemu-user
	packaging/in-aarch64 check-wheelhouse wheelhouse/aarch64

# With the native module that tests have, as one for a release takes ten minutes.
install-sample: setup build/debian/trixie.tar  ## as install-trixie, without the disk and the notebook, with the module of make setup (2 minutes)
	rm -rf build/sample
	$(BIN)/maturin build --quiet --locked --compatibility linux --out build/sample
	$(BIN)/pip download --quiet --only-binary :all: --no-require-hashes --constraint constraints.txt --dest build/sample \
	  --python-version 3.13 --platform manylinux2014_$(HOST) --platform manylinux_2_17_$(HOST) --platform linux_$(HOST) \
	  build/sample/openpts-*.whl setuptools
	$(call HASHES,build/sample)
	packaging/in-debian trixie check-paths sample

# What runs the host's wheel, for pages and completions that are made of the commands themselves.
$(PACKER)/openpts: $(PACKER)/.made $(call HOUSE,$(HOST))
	$(PACKER)/pip install --quiet --force-reinstall --no-index --find-links build/wheelhouse/$(HOST) openpts
	@touch $@

build/man: $(PACKER)/openpts
	rm -rf $@
	$(PACKER)/click-man openpts --target $@ --man-version $(VERSION)
	gzip -9n $@/*

build/completions: $(PACKER)/openpts packaging/completion/table.py
	$(PACKER)/python packaging/completion/table.py >$@

# What is compiled has the version of its Python in its name: one folder is for all of them.
build/site/%.made: build/wheelhouse/%/.made
	rm -rf build/site/$*
	set -e; for python in $(PYTHONS); do \
	  $(PACKER)/pip install --quiet --no-index --find-links $(<D) --no-compile --only-binary :all: --python-version $$python \
	    --platform manylinux2014_$* --platform manylinux_2_17_$* --target build/site/$*.part openpts; \
	  rm -r build/site/$*.part/bin; mkdir -p build/site/$*; cp -r build/site/$*.part/. build/site/$*; rm -r build/site/$*.part; done
	@touch $@

DEB_x86_64 := amd64
DEB_aarch64 := arm64
DEB = $(DIST)/openpts_$(VERSION)_$(DEB_$1).deb
$(foreach arch,x86_64 aarch64,$(eval $(call DEB,$(arch)): build/site/$(arch).made build/man build/completions packaging/deb \
  $(wildcard packaging/completion/*) packaging/lintian-overrides CHANGELOG.md ; packaging/deb $(arch)))

deb: $(foreach arch,$(ARCHS),$(call DEB,$(arch)))  ## build/dist: packages for Debian 12 and 13, with pages and completions

install-deb: $(call DEB,x86_64) build/debian/bookworm.tar build/debian/trixie.tar  ## installation, upgrade, removal and purge of it
	packaging/in-debian bookworm check-deb
	packaging/in-debian trixie check-deb

install-units: $(call DEB,x86_64) build/debian/trixie-systemd.tar  ## a detached run in a unit of a user's own systemd, in a Debian 13 that boots
	packaging/in-booted check-units

install-container: $(call DEB,x86_64)  ## the container, built and used by podman, with and without io_uring
	packaging/check-container

PYZ = $(DIST)/openpts-$(VERSION)-$1.pyz
$(foreach arch,x86_64 aarch64,$(eval $(call PYZ,$(arch)): build/site/$(arch).made ; \
  $(PACKER)/shiv --site-packages build/site/$(arch) --entry-point openpts.cli.main:main --extend-pythonpath --output-file $$@))

pyz: $(foreach arch,$(ARCHS),$(call PYZ,$(arch)))  ## build/dist: all of openpts in one file for each architecture, which needs Python alone

install-pyz: $(call PYZ,x86_64) build/debian/bookworm.tar build/debian/trixie.tar  ## the one file in Debian 12 and 13 without network
	packaging/in-debian bookworm check-pyz
	packaging/in-debian trixie check-pyz
