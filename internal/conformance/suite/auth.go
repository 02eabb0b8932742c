package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/internal/conformance"
)

// The scenarios of a client that logs in, of which each revision requires its own.
var (
	legacyAuth = cell{name: "auth-legacy", revision: legacy, goal: 14}
	modernAuth = cell{name: "auth-modern", revision: modern, goal: 25}

	sharedAuth = []string{
		"metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd",
		"scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
		"token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration",
	}
	laterAuth = []string{
		"resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration",
		"iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
		"metadata-issuer-mismatch",
	}
)

// An authRun is one scenario, at the revision that it is run at.
type authRun struct {
	scenario, revision string
	required           bool
}

// authRuns returns what is run in a cell: what its revision requires, and what of the
// suite Tenon does besides.
func authRuns(c cell) []authRun {
	var runs []authRun
	add := func(revision string, required bool, names ...string) {
		for _, n := range names {
			runs = append(runs, authRun{"auth/" + n, revision, required})
		}
	}
	add(c.revision, true, sharedAuth...)
	if c.revision == modern {
		add(c.revision, true, laterAuth...)
	} else {
		add("2025-03-26", false, "2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback")
	}
	add(c.revision, false, "client-credentials-basic", "client-credentials-jwt")
	return runs
}

// runAuth has the suite judge how Tenon logs in at its servers.
func runAuth(ctx context.Context, lab *conformance.Lab, c cell) (conformance.Sheet, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var sheet conformance.Sheet
	for _, r := range authRuns(c) {
		o, err := lab.RunClient(ctx, self+" -operator", []string{"WRAP_TENON=" + lab.Tenon}, r.revision, r.scenario)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.scenario, err)
		}
		o.Scored = r.required
		sheet = append(sheet, o)
	}
	return sheet, nil
}

// browserVariable makes this program the browser of the operator: Tenon takes the
// name of a program there, without flags.
const browserVariable = "WRAP_BROWSER"

// operate plays the operator of Tenon before the server at url, in the scenario that the
// suite names in the environment.
func operate(ctx context.Context, url string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	auth, err := authOf(os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	if err != nil {
		return err
	}
	if err := os.Setenv(browserVariable, "1"); err != nil {
		return err
	}
	return conformance.Operator{Tenon: os.Getenv("WRAP_TENON"), Browser: self, URL: url, Auth: auth, Log: os.Stderr}.Run(ctx)
}

// authOf returns the key auth of the entry for a scenario: what an operator would write
// down who knows what the suite gives its client.
func authOf(scenario, given string) (map[string]any, error) {
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Key    string `json:"private_key_pem"`
	}
	if given != "" {
		if err := json.Unmarshal([]byte(given), &client); err != nil {
			return nil, fmt.Errorf("what the suite gives its client: %w", err)
		}
	}
	auth := map[string]any{}
	for key, value := range map[string]string{"client_id": client.ID, "client_secret": client.Secret, "client_key": client.Key} {
		if value != "" {
			auth[key] = value
		}
	}
	if strings.HasPrefix(scenario, "auth/client-credentials") {
		auth["flow"] = "client_credentials"
	}
	if scenario == "auth/basic-cimd" { // the suite knows no other document
		auth["client_id"] = "https://conformance-test.local/client-metadata.json"
	}
	return auth, nil
}
