# Boson: `make demo` converts an example, `make up` runs it in a cluster, `make test` runs all tests. The other targets are parts of these.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.SILENT:
.PHONY: demo up down test check golden cluster node deaths examples build image stemcell chart release plugins setup lint doc audit bench corpus cf-deployment platform fresh clean help

# With CI=true cargo's target directory lies in the cache, outside the checkout (see .ci/env).
TARGET := $(shell source .ci/env && echo $$TARGET)
# Where .ci/setup put what the machine lacked.
export PATH := $(shell source .ci/env && echo $$PATH)
HOST := $(TARGET)/release/host
# `make check LINT=` leaves it out, where another job runs `make lint`.
LINT := lint
ifdef CI
export CARGO_TARGET_DIR := $(TARGET)
endif

help: ## list the targets
	grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 15

demo: ## install what is missing, build, convert docs/examples/nats
	.ci/setup build
	$(MAKE) build
	echo '$$ host convert docs/examples/nats/manifest.yml ... --out $(TARGET)/demo'
	$(HOST) convert docs/examples/nats/manifest.yml -o docs/examples/nats/ops/scale.yml \
	  -v system_domain=example.com --release docs/examples/nats/releases/messaging --release docs/examples/nats/releases/smoke \
	  --vars-store $(TARGET)/demo-vars.yml --out $(TARGET)/demo
	printf '%s\n' '' 'Try next:' \
	  '  less $(TARGET)/demo/*statefulset*broker*' \
	  '  $(HOST) convert docs/examples/nats/manifest.yml --help' \
	  '  $(HOST) explain bpm-no-ports'

up: ## [KUBECONFIG=x REGISTRY=x]: docs/install.md to the end of its example, in a new cluster (needs root) or in yours
	.ci/setup test
	.ci/kubernetes
	$(MAKE) $(if $(REGISTRY),image,build)
	CARGO_MANIFEST_DIR=$$PWD/tests $(TARGET)/release/boson-up up --state $(TARGET)/up

down: ## remove what `make up` has made
	CARGO_MANIFEST_DIR=$$PWD/tests $(TARGET)/release/boson-up down --state $(TARGET)/up

test: ## install what is missing, build, lint, run all tests
	.ci/setup test
	.ci/kubernetes
	$(MAKE) build lint
	.ci/tests all

check: ## lint, and all tests except those of cluster, node and examples; run it before each commit
	.ci/setup check
	$(MAKE) build $(LINT)
	.ci/tests check

golden: build ## `host` for each case of tests/golden
	.ci/tests golden

cluster: ## the operator against an API server without nodes
	.ci/setup test
	.ci/kubernetes
	$(MAKE) build
	.ci/tests cluster

node: ## deployments whose pods run on a node, images of source releases; needs root
	.ci/setup test
	.ci/kubernetes
	$(MAKE) build
	.ci/tests node

deaths: ## tests that end the operator at a write, with an end before and after each; takes 10 minutes
	.ci/setup test
	.ci/kubernetes
	$(MAKE) build
	.ci/tests deaths

examples: ## plugins in four languages: docs/examples/plugins, and what `host plugin new` creates
	.ci/setup check
	$(MAKE) build
	.ci/tests examples

build: plugins ## host and plugins, in target/release/host and target/plugins
	$(HOST) plugin precompile $(TARGET)/plugins

image: build ## the operator's image, in target/image.tar
	$(TARGET)/release/boson-build image --host $(HOST) --container-run $(TARGET)/container-run --plugins $(TARGET)/plugins --out $(TARGET)/image.tar

stemcell: build ## the stemcell image of docs/examples/nats, in target/stemcell.tar
	$(TARGET)/release/boson-up stemcell $(TARGET)/stemcell.tar

chart: ## the Helm chart, generated from deploy/ and crds/, in target/chart
	cargo build --release --workspace --bins --locked
	$(TARGET)/release/boson-build chart --out $(TARGET)/chart

release: ## [VERSION=x]: static program, image, Helm chart, manifests, plugin interface, SBOM and checksums, in target/release-x
	.ci/setup build
	.ci/release $(VERSION)

plugins:
	source .ci/env
	.ci/guests
	.ci/container-run
	cargo build --release --workspace --bins --locked
	$(TARGET)/release/boson-build --ruby $$RUBY_WASM --wasm-dir $(TARGET)/wasm32-unknown-unknown/plugin --out $(TARGET)/plugins

lint: ## formatting, clippy, licences and bans, links in the documentation of the code
	.ci/setup check
	source .ci/env
	cargo fmt --all --check
	cargo fmt --check --manifest-path tests/smith/Cargo.toml
	cargo clippy --release --workspace --all-targets --locked -- -D warnings
	cargo clippy --release --workspace --test buildah --test cluster --test example_plugins --test container_run --locked -- -D warnings
	cargo clippy --release --all-targets --locked --target-dir $(TARGET)/smith --manifest-path tests/smith/Cargo.toml -- -D warnings
	cargo deny --locked check bans licenses sources
	cargo deny --locked --manifest-path tests/smith/Cargo.toml --config .deny.toml check bans licenses sources
	.ci/sdk
	$(MAKE) doc

doc: ## the documentation of the code, in target/doc; a broken link is an error
	RUSTDOCFLAGS="-D warnings $${RUSTDOCFLAGS:-}" cargo doc --release --workspace --no-deps --document-private-items --locked

bench: build ## measures what the README promises, as a table
	cargo bench --workspace --locked --bench speed

corpus: ## RELEASES=folder [BOSH=checkout]: renders releases' templates, and compares with BOSH's own code
	test -d "$(RELEASES)" || { echo 'usage: make corpus RELEASES=folder [BOSH=checkout of cloudfoundry/bosh]' >&2; exit 2; }
	$(MAKE) build
	rm -rf $(TARGET)/corpus
	mkdir $(TARGET)/corpus
	export LC_ALL=C.UTF-8 TZ=UTC
	for release in "$(RELEASES)"/*/; do
	  test -d "$$release/jobs" || continue
	  ruby --disable=did_you_mean,error_highlight tests/corpus/record.rb "$(or $(BOSH),-)" "$$release" >"$(TARGET)/corpus/$$(basename "$$release").jsonl"
	done
	CORPUS=$(TARGET)/corpus cargo test --release --workspace --locked --test testsuite -- --ignored --nocapture a_folder_of_releases

cf-deployment: ## [TAG=v58.0.0]: converts a version of cf-deployment, by default the newest, and compares messages
	.ci/setup build
	$(MAKE) build
	.ci/cf-deployment $(TAG)

platform: ## RELEASES=folder: deploys cells of Cloud Foundry from sources, and runs an app in them; needs root (tests/platform)
	test -d "$(RELEASES)" || { echo 'usage: make platform RELEASES=folder' >&2; exit 2; }
	.ci/setup test
	.ci/kubernetes
	$(MAKE) build
	tests/platform/run.sh "$(RELEASES)" $(TARGET)/platform $(HOST) $(TARGET)/release/boson-up

setup: ## install what building and testing need
	.ci/setup test
	.ci/kubernetes

audit: ## look for known vulnerabilities in the dependencies; needs the network, and fails without it
	.ci/setup check
	source .ci/env
	cargo deny fetch db || die 'the database of advisories cannot be reached, so nothing was checked: audit again with access to github.com'
	cargo deny --locked check --disable-fetch advisories
	cargo deny --locked --manifest-path tests/smith/Cargo.toml --config .deny.toml check --disable-fetch advisories

fresh: ## [SYSTEM=bookworm|trixie] [STEPS="setup demo test"]: the README's commands on a bare Debian; needs root and debootstrap
	.ci/fresh

clean: ## forget what was built in this checkout
	cargo clean
