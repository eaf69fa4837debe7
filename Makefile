# Millwright's tasks. `make` alone lists them.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: build demo test e2e rights pictures verify nightly bench bench-cluster bench-aws generate aws-models lint sandbox image chart release terraform fmt clean help

BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Everything is static and needs no C compiler.
export CGO_ENABLED := 0
export GOTOOLCHAIN ?= local
# go build -v names every package when it begins to compile it.
PROGRESS := NF == 1 && !/:/ { if (++n % 100 == 0) printf "  %4d packages of about 2,500\n", n; fflush(); next } { print; fflush() }

build: ## Build bin/millwright.
	@go build -ldflags "-s -w -X github.com/millwright-dev/millwright/cli/version.number=$(VERSION)" -o $(BIN)/millwright ./cmd/millwright

sandbox: ## Build bin/sandbox, a Kubernetes control plane in one binary.
	@[ -x $(BIN)/sandbox ] || echo "Building bin/sandbox. The first time compiles a whole Kubernetes control plane: 4 to 10 minutes on two cores."
	@cd sandbox && go build -v -ldflags "-s -w" -o $(BIN)/sandbox ./cmd/sandbox 2>&1 | awk '$(PROGRESS)'

image: ## Write dist/image, the container image for amd64 and arm64 as an OCI layout.
	@cd deploy/release && go run ./cmd/release image --root $(CURDIR) --dist $(CURDIR)/dist --version $(VERSION)

chart: ## Package the chart into dist/, with the kinds and a manifest for simulated machines.
	@cd deploy/release && go run ./cmd/release chart --root $(CURDIR) --dist $(CURDIR)/dist --version $(VERSION)

release: ## Write dist/: image, archives, chart, manifests and their sums, called VERSION.
	@cd deploy/release && go run ./cmd/release all --root $(CURDIR) --dist $(CURDIR)/dist --version $(VERSION)

terraform: ## Check and test the Terraform modules and their examples; needs terraform, its AWS and its Helm provider.
	@cd deploy/terraform && terraform fmt -check -recursive
	@for d in . examples/complete examples/existing release examples/chart; do echo "$$d"; (cd deploy/terraform/$$d && \
		terraform init -input=false >/dev/null && terraform validate && AWS_EC2_METADATA_DISABLED=true terraform test); done
	@TERRAFORM_PLAN=1 go test -count=1 ./deploy -run ThePlanOfTheCompleteExample

demo: build sandbox ## Show it at work on a real control plane; KEEP=1 leaves the cluster up, CLOUD=aws is on an emulated AWS, STORY=NAME a failure.
	@$(BIN)/sandbox demo --millwright $(BIN)/millwright $(if $(KEEP),--keep) $(if $(CLOUD),--cloud $(CLOUD)) $(if $(STORY),--story $(STORY))

# Most of the time goes into linking a test program for each package; the linker spends a
# third of it collecting garbage unless it may use more memory, and a fifth on what only
# debuggers read.
test: ## Run every test: this module, the release's, then the sandbox and the end-to-end suite.
	GOGC=400 go test -ldflags "-s -w" ./...
	go -C deploy/release test ./...
	@$(MAKE) --no-print-directory e2e

# The tests wait more than they compute: with one for each processor, half of these are idle.
e2e: build sandbox $(BIN)/helm $(BIN)/kubectl ## Run the sandbox's tests and the end-to-end suite.
	cd sandbox && go test -count=1 -vet=off -ldflags "-s -w" -timeout 75m -parallel $$(($$(getconf _NPROCESSORS_ONLN) + 1)) ./...

# Packages whose tests draw random worlds, or play a quarter of their cases without -full.
RANDOM = $(shell go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/enginetest\/property[] ]/ && $$1 !~ /property$$/ {print $$1}')
nightly: SEED := $(or $(SEED),$(shell date +%s))
nightly: build sandbox $(BIN)/helm $(BIN)/kubectl ## Play what takes hours, with fresh random worlds; SEED=N plays a night again.
	@echo "SEED=$(SEED)"
	RAPID_SEED=$(SEED) RAPID_CHECKS=1000 go test -count=1 -timeout 60m $(RANDOM) -full
	go test -count=1 -timeout 60m ./engine/lifecycle -seed $(SEED) -interleavings 1000000
	go test -count=1 -timeout 60m ./engine/disruption -interleavings 10000
	cd sandbox && MILLWRIGHT_SEED=$(SEED) go test -count=1 -vet=off -ldflags "-s -w" -timeout 5h ./e2e -long

rights: build sandbox $(BIN)/helm $(BIN)/kubectl ## Record which rights the end-to-end suite makes use of; as long as e2e.
	@rm -rf $(BIN)/audit && mkdir -p $(BIN)/audit
	cd sandbox && AUDIT_DIR=$(BIN)/audit go test -count=1 -vet=off -ldflags "-s -w" -timeout 75m ./e2e
	@go run ./deploy/rights/rightsgen $(BIN)/audit > deploy/rights/testdata/used.txt

pictures: build sandbox $(BIN)/kubectl ## Draw docs/pictures anew: the demo's pods as the dashboards show them, and the comparison of bench/CLUSTER.md.
	cd sandbox && go test -count=1 -vet=off ./picture -rewrite
	cd sandbox && go test -count=1 -vet=off -ldflags "-s -w" ./e2e -run AnswersTheQueries -pictures $(CURDIR)/docs/pictures

bench: ## Compare with Karpenter's scheduler on the same pods and instance types.
	cd bench && go run ./cmd/bench $(ARGS)

bench-cluster: build sandbox ## Let Karpenter's controller and ours take turns in a sandbox.
	@cd bench && go build -o $(BIN)/karpenter-kwok sigs.k8s.io/karpenter/kwok
	cd bench && go run ./cmd/bench cluster $(ARGS)

bench-aws: build sandbox ## Let Karpenter's controller for AWS and ours take turns on an emulated AWS.
	@go -C bench/aws build -o $(BIN)/karpenter-aws github.com/aws/karpenter-provider-aws/cmd/controller
	cd bench && go run ./cmd/bench aws $(ARGS)

generate: $(BIN)/controller-gen ## Rewrite generated files: CRDs, RBAC, dashboards, the table of EC2 types.
	go run ./deploy/crdgen deploy/crds
	$(BIN)/controller-gen object paths=./api/... crd:headerFile=/dev/null paths=./api/... output:crd:dir=deploy/crds
	go generate ./cloud/...
	$(BIN)/controller-gen rbac:roleName=millwright paths="./cluster/...;./controllers/..." output:rbac:dir=deploy/rbac
	$(BIN)/controller-gen rbac:roleName=millwright-kwok paths="./cloud/kwok/..." output:rbac:dir=deploy/rbac/kwok
	$(BIN)/controller-gen rbac:roleName=millwright-aws paths="./cloud/aws/..." output:rbac:dir=deploy/rbac/aws
	go run ./deploy/chartgen deploy/rbac deploy/chart/files
	go run ./deploy/dashgen deploy/chart/files/dashboards

aws-models: ## Rewrite the tables of AWS's service models; needs npm.
	go run ./cloud/aws/awstest/internal/modelgen cloud/aws/awstest/wire/tables

lint: $(BIN)/golangci-lint ## Run the linters over every module; the first time builds golangci-lint.
	for m in . bench sandbox deploy/release; do (cd $$m && $(BIN)/golangci-lint run ./...); done

verify: lint generate ## Check what a reviewer should not have to: format, vet, lint, generated files, go.mod.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go mod tidy -diff
	@git diff --exit-code -- api deploy cloud || { echo "generated files differ: commit what make generate wrote"; exit 1; }

fmt: ## Format all Go code.
	@gofmt -w $$(git ls-files '*.go')

clean: ## Remove what was built.
	@rm -rf $(BIN) dist

help: ## List the tasks.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16

# Tools are pinned in tools/go.mod, Helm beside the chart's tests, kubectl beside the sandbox.
$(BIN)/helm: deploy/release/go.mod
	@go -C deploy/release build -ldflags "-s -w" -o $@ helm.sh/helm/v4/cmd/helm
$(BIN)/kubectl: sandbox/go.mod
	@go -C sandbox build -ldflags "-s -w" -o $@ k8s.io/kubernetes/cmd/kubectl
$(BIN)/controller-gen: tools/go.mod
	@go -C tools build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(BIN)/golangci-lint: tools/go.mod
	@echo "Building golangci-lint; this takes a few minutes."
	@go -C tools build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
