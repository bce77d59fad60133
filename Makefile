# Lacuna's commands. `make` alone lists them.

GOTOOL := go tool -modfile=tools/go.mod

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the programs into bin/
	go build -buildvcs=auto -o bin/ ./cmd/... ./starter ./worker

.PHONY: test
test: ## Run every test; installs and starts the servers that they need
	go test -timeout 40m ./...
	cd deploy/check && go test ./...

.PHONY: lint
lint: ## Check style, forbidden imports and the determinism of workflows
	go vet ./...
	$(GOTOOL) golangci-lint run
	cd deploy/check && go vet ./... && go tool -modfile=../../tools/go.mod golangci-lint run
	cd tools && go vet ./openapi && go tool golangci-lint run ./openapi
	$(GOTOOL) workflowcheck ./workflows/...
	$(GOTOOL) buf lint

.PHONY: format
format: ## Format the code
	$(GOTOOL) golangci-lint fmt
	cd deploy/check && go tool -modfile=../../tools/go.mod golangci-lint fmt
	cd tools && go tool golangci-lint fmt ./openapi
	$(GOTOOL) buf format -w

.PHONY: generate
generate: ## Generate the API's code and its OpenAPI document from the protos
	$(GOTOOL) buf generate

.PHONY: verify
verify: ## Check that the generated code and the module files are current, and that the API breaks nobody
	go mod verify
	go mod tidy -diff
	cd deploy/check && go mod verify && go mod tidy -diff
	cd tools && go mod tidy -diff
	tools/verify-generated
	tools/verify-breaking

.PHONY: run
run: ## Run Lacuna, its servers and the demo shop (DEMO=0: without the shop)
	@go build -o .dev/bin/ ./deploy/dev && exec .dev/bin/dev

.PHONY: demo
demo: ## The same, and end with the shop's exit code (EVENTS=file.csv SPEED=2)
	@go build -o .dev/bin/ ./deploy/dev && exec .dev/bin/dev --once

.PHONY: clean-dev
clean-dev: ## Forget the data of make run
	@go build -o .dev/bin/ ./deploy/dev && exec .dev/bin/dev --forget

.PHONY: bench
bench: ## Measure rates and ratios
	go test ./bench -run '^$$' -bench Next -cpu 1,2 -benchtime 20000x
	go test ./bench -run '^$$' -bench 'Ledger|Settle' -benchtime 2s
	go test ./bench -run '^$$' -bench 'Audit|Seal|Map|Activity' -benchtime 1x -timeout 1h

.PHONY: soak
soak: ## The stories of e2e in full: 100 kills, 100 restarts, 200 freezes, outages, dead letters, races, ruin, a storm, a restored backup, five minutes at full rate (an hour and a half)
	LACUNA_SOAK=1 go test ./e2e -v -run 'Kills|Restarts|Frozen|Outages|Rolling|WindowOutlives|DeadLetters|Races|Ruin|Silence|Storm|WholeLoop|ReplayByThePatrol|WaitingRuns|OnlyReads|ComeLate|SteppedBack' -timeout 3h

.PHONY: soak-versions
soak-versions: ## An older worker beside this one (OLD=commit)
	@test -n "$(OLD)" || (echo "say which: make soak-versions OLD=<commit>" && false)
	rm -rf .dev/old && git worktree prune && git worktree add -f .dev/old/src $(OLD)
	cd .dev/old/src && go build -o ../bin/ ./worker
	git worktree remove --force .dev/old/src
	LACUNA_OLD_PROGRAMS=$(CURDIR)/.dev/old/bin go test ./e2e -v -run SideBySide -timeout 20m
