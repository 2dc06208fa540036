# SPDX-License-Identifier: BSD-3-Clause
# The commands of the project; each is enough by itself on a fresh Debian 12 or 13, or Ubuntu 24.04. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Never more than the cores: a compiler here needs up to 1 GB.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# Of `make differential`.
PROGRAMS ?= 10000
SEED ?= 1
BUILD := build/dev

# The same object files for every clone on this machine.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: demo
demo: ## an unmodified MPI program exchanges device memory, with the naive way beside it
	@tools/setup --for demo
	@JOBS=$(JOBS) tools/build demo sluice_demo
	@tools/demo

.PHONY: check
check: setup ## builds, runs all tests but the full matrix, and the main device tests under the sanitizers
	@JOBS=$(JOBS) tools/check

.PHONY: check-sanitizers
check-sanitizers: setup ## all tests for the sanitizers: address and undefined together, then thread
	@JOBS=$(JOBS) tools/check --only-sanitizers

.PHONY: setup
setup: ## installs what is missing: Debian packages, and the Python environments in .venv
	@tools/setup

.PHONY: build
build: setup ## compiles everything into build/dev
	@JOBS=$(JOBS) tools/build dev

.PHONY: full-matrix
full-matrix: build ## every host MPI x backend x memory kinds x size x ranks (hours on two cores)
	@JOBS=$(JOBS) tools/check --full

.PHONY: differential
differential: build ## 10,000 random programs on device memory against the host MPI alone (PROGRAMS, SEED; an hour or more)
	@tools/differential --programs $(PROGRAMS) --seed $(SEED)

.PHONY: gates
gates: build ## format, clang-tidy, layers, vendor words, symbols and the other rules of ci/
	@ci/all

.PHONY: format
format: setup ## rewrites all sources in the project's style
	@ci/format --fix

.PHONY: tidy
tidy: build ## clang-tidy alone
	@ci/tidy

.PHONY: generate
generate: setup ## rewrites the documents that are generated from tables
	@ci/generated --fix

.PHONY: docs
docs: setup ## the guide, all documents and the reference of the public headers, as pages of HTML in build/docs/html
	@JOBS=$(JOBS) tools/docs && echo "build/docs/html/index.html"

.PHONY: env
env: ## prints what a shell needs to use the device runtime in .venv
	@sed -n '/^export/p' tools/environment | sed "s|\$$sluice_root|$(CURDIR)|g"

.PHONY: install
install: setup ## installs a release build under PREFIX (default /usr/local)
	@JOBS=$(JOBS) tools/build release
	@cmake --install build/release --prefix "$(PREFIX)" >build/release/install.log || { tail -n 5 build/release/install.log; exit 1; }
	@echo "installed under $(PREFIX)"

.PHONY: clean
clean: ## removes build/; .venv stays
	rm -rf build
