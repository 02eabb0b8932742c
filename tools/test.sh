#!/usr/bin/env bash
# Runs the tests of the packages given. Failures are printed in full, skipped
# tests with their reasons, and last of all the counts.
set -euo pipefail
cd "$(dirname "$0")/.."

# gotestsum hands the counts to this command. A package that does not build
# counts as failed.
counts='passed=$((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED))
failed=$((TESTS_FAILED + TESTS_ERRORS))
echo "$passed passed, $failed failed, $TESTS_SKIPPED skipped"'

# The race detector tells at once what it finds, but lets every process wait a
# second at its end for more: that is minutes, with one process for each package.
export GORACE=atexit_sleep_ms=0

exec .cache/bin/gotestsum \
	--format pkgname --format-hide-empty-pkg \
	--post-run-command "bash -c '$counts'" \
	-- -race -shuffle=on -timeout=8m "$@"
