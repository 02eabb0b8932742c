# "make" shows the targets. Everything fetched or built goes to .cache, which
# may be deleted at any time. Only Go, make and bash must be there before; the
# tests also want Node.js, and say what they skip without it.

SHELL := bash
.DELETE_ON_ERROR:
.SUFFIXES:

GO   ?= go
BIN  := $(CURDIR)/.cache/bin
# Packages to test: make test PKG=./internal/proc
PKG  ?= ./...
# How long each fuzz target runs: make fuzz TIME=5s
TIME ?= 30s
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help
help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

.PHONY: build
build: ## Build the binary for this machine into dist/
	CGO_ENABLED=0 $(GO) build -trimpath -o dist/ ./cmd/tenon

.PHONY: npm
npm: ## Install the npm tool servers that tests run against
	@tools/npm.sh

.PHONY: debian
debian: ## Install the programs of Debian that tests start for themselves
	@tools/debian.sh

.PHONY: test
test: $(BIN)/gotestsum ## Run all tests with the race detector; PKG= picks packages
	@tools/npm.sh || [ $$? = 3 ]
	@tools/npm.sh conformance || [ $$? = 3 ]
	@tools/debian.sh || [ $$? = 3 ]
	@GO="$(GO)" tools/test.sh $(PKG)

.PHONY: long
long: ## Run the tests that take too long for every day: sizes, soaks; PKG= picks packages
	@TENON_TEST_LONG=1 $(GO) test -count=1 -timeout=60m $(PKG)

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters
	$(BIN)/golangci-lint run

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format the code and sort imports
	$(BIN)/golangci-lint fmt

.PHONY: tidy
tidy: ## Fail if go.mod or go.sum would change
	$(GO) mod tidy -diff

.PHONY: cross $(PLATFORMS)
cross: $(PLATFORMS) ## Build for every platform, and vet for every system
$(PLATFORMS): export GOOS   = $(@D)
$(PLATFORMS): export GOARCH = $(@F)
$(PLATFORMS): export CGO_ENABLED = 0
$(PLATFORMS):
	$(GO) build -trimpath -o .cache/cross/$@/ ./cmd/tenon
	$(if $(filter %/arm64,$@),$(GO) vet ./...)

.PHONY: fuzz
fuzz: ## Run each fuzz target for TIME (30s)
	@GO="$(GO)" tools/fuzz.sh $(TIME)

.PHONY: bench
bench: ## Measure what a call costs
	$(GO) run ./bench

.PHONY: faults
faults: ## Print what a caller gets of each fault of a server, and how soon
	@set -o pipefail; $(GO) test ./internal/faults -run TestMatrix -count=1 -v -parallel 2 | \
	  awk '/^ *fault +transport/,/side by side/ { sub(/^        /, ""); print } /_test.go:[0-9]+: ./ || /^(FAIL|ok)/'

.PHONY: conformance
conformance: ## Run the official conformance suite through the gateway
	@tools/npm.sh conformance
	@$(GO) run ./internal/conformance/suite -v

.PHONY: servers
servers: ## Compare the servers of a corpus with what the gateway makes of them
	@tools/npm.sh conformance
	@$(GO) run ./internal/conformance/servers

.PHONY: clean
clean: ## Remove everything that make fetched or built
	rm -rf .cache dist

# Tools are pinned, hashes included, by modules of their own, so that what they
# need never mixes with what Tenon needs.
$(BIN)/gotestsum: tools/test/go.mod tools/test/go.sum
	$(GO) -C tools/test build -o $@ gotest.tools/gotestsum

# The first build takes some minutes.
$(BIN)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	$(GO) -C tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
