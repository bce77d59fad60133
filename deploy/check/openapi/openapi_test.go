// Package openapi holds api/openapi.yaml against the starter: the document is valid, and what the real API is sent and
// answers is what it says.
package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil { // the repository's root: the servers' programs are kept there
		panic(err)
	}
	testkit.Main(m)
}

// starter runs the API server and gives its address and an admin's token.
func starter(t *testing.T) (address, token string) {
	t.Helper()
	dsn := testkit.MariaDB(t)
	l, err := ledger.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	admin := access.Token{Name: "reader", Role: access.RoleAdmin}
	token, admin.Hash = access.NewText(admin.Name)
	require.NoError(t, l.CreateToken(t.Context(), admin, 0))

	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./starter").CombinedOutput()
	require.NoError(t, err, "%s", out)
	api, err := devenv.FreePort()
	require.NoError(t, err)
	ops, err := devenv.FreePort()
	require.NoError(t, err)
	child, err := devenv.Start(devenv.Spec{
		Name: "starter", Path: filepath.Join(dir, "starter"), Log: filepath.Join(dir, "starter.log"), Env: []string{
			"LACUNA_MYSQL_DSN=" + dsn, "LACUNA_REDIS_URL=" + testkit.Redis(t), "TEMPORAL_ADDRESS=" + testkit.OwnTemporal(t).Address(),
			"LACUNA_LISTEN=" + devenv.Address(api), "LACUNA_OPS_LISTEN=" + devenv.Address(ops),
		},
	})
	require.NoError(t, err)
	t.Cleanup(child.Kill)
	testkit.Eventually(t, func() bool {
		require.NoError(t, child.Err())
		response, err := http.Get("http://" + devenv.Address(ops) + "/readyz") //nolint:noctx // the loop ends it
		if err != nil {
			return false
		}
		defer response.Body.Close() //nolint:errcheck // only its status counts
		return response.StatusCode == http.StatusOK
	}, "the starter is not ready")
	return "http://" + devenv.Address(api), token
}

// document reads api/openapi.yaml for a service at the address.
func document(t *testing.T, address string) validator.Validator {
	t.Helper()
	text, err := os.ReadFile("api/openapi.yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), "http://localhost:8080")
	parsed, err := libopenapi.NewDocument(bytes.ReplaceAll(text, []byte("http://localhost:8080"), []byte(address)))
	require.NoError(t, err)
	v, errs := validator.NewValidator(parsed)
	require.Empty(t, errs)
	return v
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	_, errs := document(t, "http://localhost:8080").ValidateDocument()
	require.Empty(t, errs)
}

func TestTheAPIDoesWhatTheDocumentSays(t *testing.T) {
	address, token := starter(t)
	v := document(t, address)

	// call holds a request and its answer to the document; a bad request must be found by it, too.
	call := func(t *testing.T, r *http.Request, good bool) (int, map[string]any) {
		t.Helper()
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		ok, errs := v.ValidateHttpRequest(r)
		require.Equal(t, good, ok, "%s %s: %v", r.Method, r.URL, errs)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // it was read
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body = io.NopCloser(bytes.NewReader(text))
		ok, errs = v.ValidateHttpResponse(r, response)
		require.True(t, ok, "%s %s: %s: %v", r.Method, r.URL, text, errs)
		var answer map[string]any
		require.NoError(t, json.Unmarshal(text, &answer))
		return response.StatusCode, answer
	}
	request := func(t *testing.T, path, body string) *http.Request {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/lacuna.v1."+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	post := func(t *testing.T, path, body string) (int, map[string]any) {
		t.Helper()
		return call(t, request(t, path, body), true)
	}

	status, _ := post(t, "OperatorService/PutBizType", `{"bizType":{"name":"ORDER","format":"A-{seq:6}","safetyWindow":"60s","start":"7"}}`)
	require.Equal(t, http.StatusOK, status)
	keyed := request(t, "SequenceService/Next", `{"bizType":"ORDER","count":2}`)
	keyed.Header.Set("Idempotency-Key", "order-1")
	status, answer := call(t, keyed, true)
	require.Equal(t, http.StatusOK, status)
	numbers := answer["numbers"].([]any)
	first, second := numbers[0].(map[string]any)["ticket"].(string), numbers[1].(map[string]any)["ticket"].(string)

	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"SequenceService/Confirm", `{"ticket":"` + first + `","bizKey":"o-1"}`, http.StatusOK},
		{"SequenceService/Extend", `{"ticket":"` + second + `","holdFor":"1200.5s"}`, http.StatusOK},
		{"SequenceService/Settle", `{"commands":[{"ticket":"` + first + `","action":"ACTION_ABANDON"},{"ticket":"` + second + `","action":"ACTION_ABANDON"}]}`, http.StatusOK},
		{"SequenceService/Get", `{"bizType":"ORDER","seqNo":"A-000007"}`, http.StatusOK},
		{"SequenceService/Abandon", `{"ticket":"` + first + `"}`, http.StatusBadRequest},
		{"SequenceService/Confirm", `{"ticket":"` + first + `","bizKey":"o-2"}`, http.StatusConflict},
		{"SequenceService/Confirm", `{}`, http.StatusBadRequest},
		{"SequenceService/Next", `{"bizType":"NONE"}`, http.StatusNotFound},
		{"OperatorService/GetBizType", `{"name":"ORDER"}`, http.StatusOK},
		{"OperatorService/ListNumbers", `{"bizType":"ORDER"}`, http.StatusOK},
		{"OperatorService/Audit", `{"bizType":"ORDER"}`, http.StatusOK},
		{"OperatorService/ListTokens", `{}`, http.StatusOK},
		{"OperatorService/GetStatus", `{}`, http.StatusOK},
		{"OperatorService/VerifySeals", `{}`, http.StatusOK},
	} {
		status, answer := post(t, tt.path, tt.body)
		require.Equal(t, tt.status, status, "%s %s: %v", tt.path, tt.body, answer)
	}

	query := url.Values{"encoding": {"json"}, "message": {`{"ticket":"` + first + `"}`}}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/lacuna.v1.SequenceService/Get?"+query.Encode(), nil)
	require.NoError(t, err)
	status, answer = call(t, get, true)
	require.Equal(t, http.StatusOK, status, "%v", answer)

	unknown := request(t, "SequenceService/Next", `{"bizType":"ORDER"}`)
	unknown.Header.Set("Authorization", "Bearer lacuna_nobody_0")
	status, _ = call(t, unknown, true)
	require.Equal(t, http.StatusUnauthorized, status)

	t.Run("what the document refuses, the API refuses", func(t *testing.T) {
		for _, body := range []string{`{"biztype":"ORDER"}`, `{"bizType":7}`} {
			status, _ := call(t, request(t, "SequenceService/Next", body), false)
			require.Equal(t, http.StatusBadRequest, status, body)
		}
		status, _ := call(t, request(t, "SequenceService/Extend", `{"ticket":"`+second+`","holdFor":"PT20M"}`), false)
		require.Equal(t, http.StatusBadRequest, status)
	})

	t.Run("the starter hands the document out to everybody", func(t *testing.T) {
		response, err := http.Get(address + "/openapi.yaml") //nolint:noctx // the test ends it
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // it was read
		served, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		want, err := os.ReadFile("api/openapi.yaml")
		require.NoError(t, err)
		require.Equal(t, string(want), string(served))
		require.Equal(t, "application/yaml", response.Header.Get("Content-Type"))
	})
}
