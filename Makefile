# Every target does its own set-up: npm packages, Debian packages (when root), built tools.

.POSIX:
.DELETE_ON_ERROR:
.PHONY: help setup testbed test test-unit check bench bench-agent bench-scale demo demo-agent generate bundle clean
.PHONY: check-lint check-format check-types check-imports check-dead-code check-shell

# The Node and the tools that npm brought come first; npm itself keeps the machine's own Node.
WITH_NODE = PATH="$$(dirname "$$(scripts/find-node)"):$$PWD/node_modules/.bin:$$PATH"
WITHOUT_ROOT = [ "$$(id -u)" -eq 0 ] || echo 'make $@: not root: the tests that mount disks or act as two users will fail' >&2
SHELL_SCRIPTS = .ci/run bin/larder bin/imagecachectl scripts/find-node scripts/npm-packages scripts/system-packages

help:
	@echo 'make demo       run the main job on real images, from registry to disk'
	@echo 'make test       every test, with real servers, file systems and tools (as root)'
	@echo 'make test-unit  the tests that need no server, in under a minute'
	@echo 'make check      lint, format, types, import direction, dead code, documentation'
	@echo 'make bench      measure against crane, skopeo and umoci; BENCH="--runs 1 --only real"'
	@echo 'make bench-agent what the agent costs a node, at rest and at work'
	@echo 'make bench-scale ten thousand agents, most of them simulated, at one API server'
	@echo 'make bundle     dist/larder.mjs, and beside it what it loads on demand'
	@echo 'make demo-agent a control plane, a node, a registry and the agent, and what it does'
	@echo 'make testbed    build the servers that the tests run against, into the cache folder'
	@echo 'make generate   what is made from deploy/crds'
	@echo 'make setup      what a checkout needs to run bin/larder'
	@echo 'make clean      remove what the targets above made in this checkout'

# All that the command line asks for is looked for at once, so that a list of what is missing is whole.
setup:
	@scripts/system-packages setup $(filter-out setup,$(MAKECMDGOALS))
	@scripts/npm-packages

# Before the tests, so that no two of them build the same at once.
testbed: setup
	@scripts/system-packages testbed
	$(WITH_NODE) node testbed/main.ts

test: setup bundle testbed
	@scripts/system-packages test
	@$(WITHOUT_ROOT)
	$(WITH_NODE) node --test --test-timeout=1800000 'src/**/*.test.ts' 'test/**/*.test.ts'

test-unit: setup
	@$(WITHOUT_ROOT)
	$(WITH_NODE) node --test --test-timeout=60000 'src/**/*.test.ts'

check: setup check-lint check-format check-types check-imports check-dead-code check-shell

check-lint: setup
	$(WITH_NODE) oxlint --type-aware --deny-warnings

check-format: setup
	$(WITH_NODE) oxfmt --check

check-types: setup
	$(WITH_NODE) tsc

check-imports: setup
	$(WITH_NODE) node --test test/imports.test.ts test/docs.test.ts

check-dead-code: setup
	$(WITH_NODE) knip

check-shell:
	@scripts/system-packages check
	shellcheck $(SHELL_SCRIPTS)

bench: setup bundle
	@scripts/system-packages bench
	$(WITH_NODE) node bench/main.ts $(BENCH)

bench-agent: setup bundle testbed
	@scripts/system-packages bench
	$(WITH_NODE) node bench/agent.ts $(BENCH)

bench-scale: setup bundle testbed
	@scripts/system-packages bench
	$(WITH_NODE) node bench/scale.ts $(BENCH)

demo: setup
	@scripts/system-packages demo
	$(WITH_NODE) node testbed/demo.ts

demo-agent: setup testbed
	@scripts/system-packages demo-agent
	$(WITH_NODE) node testbed/demo-agent.ts

generate: setup
	$(WITH_NODE) node scripts/generate.ts

bundle: setup
	$(WITH_NODE) rolldown --config rolldown.config.mjs --logLevel warn

clean:
	rm -rf dist bench/results node_modules
