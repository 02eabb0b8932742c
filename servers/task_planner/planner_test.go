package planner_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/testenv"
	planner "github.com/tenon-mcp/tenon/servers/task_planner"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("PLANNER_TEST_WRITER"); dir != "" {
		os.Exit(write(dir))
	}
	os.Exit(m.Run())
}

// write is another process: it adds todos, one by one, and prints what it was told
// is kept.
func write(dir string) int {
	count, err := strconv.Atoi(os.Getenv("PLANNER_TEST_COUNT"))
	if err != nil {
		return 2
	}
	ctx := context.Background()
	cs, stop, err := dial(ctx, planner.Options{Dir: dir})
	if err != nil {
		return 2
	}
	defer stop()
	for i := range count {
		title := fmt.Sprintf("%s-%d", os.Getenv("PLANNER_TEST_NAME"), i)
		res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "add_todo", Arguments: map[string]any{"titles": []string{title}}})
		if err != nil || res.IsError {
			fmt.Fprintln(os.Stderr, err, res)
			return 1
		}
		fmt.Println(title)
	}
	return 0
}

func dial(ctx context.Context, o planner.Options) (*mcp.ClientSession, func() error, error) {
	srv, err := planner.New(o)
	if err != nil {
		return nil, nil, err
	}
	return testenv.Dial(ctx, srv, nil)
}

type plan struct {
	Message                            string
	Total, Pending, Completed, LeftOut int
	Todos                              []struct {
		ID, Title string
		Completed bool
	}
}

// call calls a tool of a server on a folder, with _meta.
func call(t *testing.T, dir, tool, arguments string, meta mcp.Meta) (string, bool, plan) {
	t.Helper()
	cs, stop, err := dial(t.Context(), planner.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments), Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	var p plan
	b, _ := json.Marshal(res.StructuredContent)
	_ = json.Unmarshal(b, &p)
	text := res.Content[0].(*mcp.TextContent).Text
	if n := utf8.RuneCountInString(text); n > 8000 {
		t.Errorf("%s: an answer of %d characters", tool, n)
	}
	return text, res.IsError, p
}

func TestPlanFromBeginningToEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	if text, isError, _ := call(t, dir, "list_todos", `{}`, nil); isError || !strings.Contains(text, "No tasks planned yet.") {
		t.Fatalf("an empty plan: %q", text)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking at the plan made the folder")
	}
	text, isError, p := call(t, dir, "add_todo", `{"titles": ["Read the log", "  Find the\nchange "]}`, nil)
	want := regexp.MustCompile(`(?s)^Added 2 tasks: Read the log; Find the change\n\n# Task Plan\n\nTotal: 2 \| Pending: 2 \| Completed: 0\n\n- \[ \] Read the log \([0-9a-f]{8}\)\n- \[ \] Find the change \([0-9a-f]{8}\)$`)
	if isError || !want.MatchString(text) || len(p.Todos) != 2 || len(p.Todos[0].ID) != 36 {
		t.Fatalf("added: %q %+v", text, p)
	}
	first, second := p.Todos[0].ID, p.Todos[1].ID

	text, isError, p = call(t, dir, "complete_todo", `{"todo_ids": ["`+first[:8]+`", "nope"]}`, nil)
	if isError || !strings.HasPrefix(text, "Completed: Read the log\nNot found: nope\n") || p.Completed != 1 || !p.Todos[0].Completed || !strings.Contains(text, "- [x] Read the log ("+first[:8]+")") {
		t.Errorf("completed: %q %+v", text, p)
	}
	if text, _, p := call(t, dir, "list_todos", `{"status": "pending"}`, nil); len(p.Todos) != 1 || p.Total != 2 || strings.Contains(text, "Read the log") {
		t.Errorf("pending ones: %q %+v", text, p)
	}
	if text, isError, p := call(t, dir, "list_todos", `{"status": null, "offset": null}`, nil); isError || len(p.Todos) != 2 {
		t.Errorf("arguments that are null: %q %+v", text, p)
	}
	text, isError, p = call(t, dir, "delete_todo", `{"todo_ids": ["(`+strings.ToUpper(second)+`)"]}`, nil)
	if isError || !strings.HasPrefix(text, "Deleted: Find the change\n") || p.Total != 1 || p.Todos[0].ID != first {
		t.Errorf("deleted: %q %+v", text, p)
	}
	text, isError, _ = call(t, dir, "delete_todo", `{"todo_ids": ["`+second+`"]}`, nil)
	if !isError || !strings.Contains(text, "Task IDs not found: "+second) {
		t.Errorf("deleted twice: %q", text)
	}
	text, isError, _ = call(t, dir, "add_todo", `{"titles": ["One more"]}`, nil)
	if isError || !strings.HasPrefix(text, `Task added: "One more"`) {
		t.Errorf("one more: %q", text)
	}
}

func TestEachTaskHasItsPlan(t *testing.T) {
	dir := t.TempDir()
	places := []mcp.Meta{
		nil,
		{"tenon/task": "a"},
		{"tenon/task": "A"},
		{"tenon/session": "a"},
		{"tenon/session": "../../a", "tenon/other": "b"},
		{"tenon/task": strings.Repeat("../", 10_000)},
		{"tenon/task": 7},
	}
	for i, meta := range places {
		_, isError, p := call(t, dir, "add_todo", fmt.Sprintf(`{"titles": ["of %d"]}`, i), meta)
		if want := 1 + i/6; isError || p.Total != want { // the last one names no task
			t.Errorf("%v: %+v, want a plan of %d", meta, p, want)
		}
	}
	if _, _, p := call(t, dir, "list_todos", `{}`, mcp.Meta{"tenon/session": "other", "tenon/task": "a"}); p.Total != 1 || p.Todos[0].Title != "of 1" {
		t.Errorf("the task does not stand above the session: %+v", p)
	}
	t.Setenv("TASK_ID", "a")
	if _, _, p := call(t, dir, "list_todos", `{}`, mcp.Meta{"tenon/task": "A"}); p.Total != 1 || p.Todos[0].Title != "of 1" {
		t.Errorf("the process does not stand above the call: %+v", p)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 7 {
		t.Errorf("%d entries, want 6 lists and a lock: %v %v", len(entries), entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%v: %v", info, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, _, p := call(t, dir, "add_todo", `{"titles": ["kept"]}`, nil)
	many, _ := json.Marshal(strings.Split(strings.Repeat("x,", 51), ","))
	manyIDs, _ := json.Marshal(strings.Split(strings.Repeat("x,", 301), ","))
	for _, tt := range []struct{ tool, arguments, want string }{
		{"add_todo", `{"titles": []}`, "titles is empty"},
		{"add_todo", `{"titles": ["", " \n", "\u0000\u200b"]}`, "no title has any text"},
		{"add_todo", `{"titles": ["fine", "` + strings.Repeat("ä", 301) + `"]}`, "titles[1] has more than 300"},
		{"add_todo", `{"titles": ["` + strings.Repeat("x", 10<<20) + `"]}`, "titles[0] has more than 300"},
		{"add_todo", `{"titles": ` + string(many) + `}`, "too many"},
		{"add_todo", `{}`, "titles"},
		{"complete_todo", `{"todo_ids": []}`, "1 to 300"},
		{"complete_todo", `{"todo_ids": ` + string(manyIDs) + `}`, "1 to 300"},
		{"complete_todo", `{"todo_ids": ["", "../../x", "$(id)", "--all", "*"]}`, "not found"},
		{"delete_todo", `{"todo_ids": ["` + strings.Repeat("x", 10<<20) + `"]}`, "not found"},
		{"list_todos", `{"status": "later"}`, "status"},
	} {
		text, isError, _ := call(t, dir, tt.tool, tt.arguments, nil)
		if !isError || !strings.Contains(text, tt.want) || len(text) > 2000 {
			t.Errorf("%s %.60s: %.300q", tt.tool, tt.arguments, text)
		}
	}
	if _, _, after := call(t, dir, "list_todos", `{}`, nil); after.Total != 1 || after.Todos[0] != p.Todos[0] {
		t.Errorf("what was refused changed the plan: %+v", after)
	}
}

func TestIDsThatBeginAlike(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, "add_todo", `{"titles": ["x"]}`, nil)
	files, _ := filepath.Glob(filepath.Join(dir, "todos_*"))
	const list = `{"version": 1, "todos": [{"id": "aaaaaaaa-1", "title": "one"}, {"id": "aaaaaaaa-2", "title": "two"}, {"id": "b", "title": "three"}]}`
	if err := os.WriteFile(files[0], []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	text, isError, p := call(t, dir, "complete_todo", `{"todo_ids": ["aaaaaaaa", "b"]}`, nil)
	if isError || !strings.Contains(text, "More than one ID begins with: aaaaaaaa") || p.Completed != 1 || !strings.Contains(text, "one (aaaaaaaa-1)") {
		t.Errorf("got %q", text)
	}
	if text, isError, _ := call(t, dir, "delete_todo", `{"todo_ids": ["aaaa"]}`, nil); !isError || !strings.Contains(text, "More than one ID begins with: aaaa") {
		t.Errorf("got %q", text)
	}
}

func TestAFullPlanIsShownInParts(t *testing.T) {
	dir := t.TempDir()
	var titles []string
	for i := range 50 {
		titles = append(titles, fmt.Sprintf("%03d %s", i, strings.Repeat("ü", 290)))
	}
	b, _ := json.Marshal(map[string]any{"titles": titles})
	for range 6 {
		if text, isError, _ := call(t, dir, "add_todo", string(b), nil); isError {
			t.Fatal(text)
		}
	}
	if text, isError, _ := call(t, dir, "add_todo", `{"titles": ["one more"]}`, nil); !isError || !strings.Contains(text, "may have 300") {
		t.Errorf("a plan without end: %q", text)
	}
	seen := 0
	for seen < 300 {
		text, _, p := call(t, dir, "list_todos", fmt.Sprintf(`{"offset": %d}`, seen), nil)
		if len(p.Todos) == 0 {
			t.Fatalf("nothing after %d: %q", seen, text)
		}
		seen += len(p.Todos)
		if seen < 300 && !strings.Contains(text, fmt.Sprintf("%d more are not shown: call list_todos with offset: %d.", 300-seen, seen)) {
			t.Fatalf("after %d: %q", seen, text[len(text)-200:])
		}
	}
	if text, isError, _ := call(t, dir, "list_todos", `{"offset": 999}`, nil); isError || !strings.Contains(text, "only 300") {
		t.Errorf("beyond the end: %q", text)
	}
}

func TestADamagedListIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, "add_todo", `{"titles": ["x"]}`, nil)
	files, _ := filepath.Glob(filepath.Join(dir, "todos_*"))
	for _, content := range []string{"", "{", `{"version": 2}`, strings.Repeat(" ", 5<<20)} {
		if err := os.WriteFile(files[0], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"list_todos", "add_todo"} {
			text, isError, _ := call(t, dir, tool, map[string]string{"list_todos": `{}`, "add_todo": `{"titles": ["y"]}`}[tool], nil)
			if !isError || !strings.Contains(text, filepath.Base(files[0])+" is damaged") {
				t.Errorf("%s: %q", tool, text)
			}
		}
		if b, err := os.ReadFile(files[0]); err != nil || string(b) != content {
			t.Error("a damaged list was changed")
		}
	}
}

func TestOldListsMakeRoom(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, "add_todo", `{"titles": ["old"]}`, mcp.Meta{"tenon/task": "old"})
	old := time.Now().Add(-31 * 24 * time.Hour)
	files, _ := filepath.Glob(filepath.Join(dir, "todos_*"))
	if err := os.Chtimes(files[0], old, old); err != nil {
		t.Fatal(err)
	}
	call(t, dir, "add_todo", `{"titles": ["new"]}`, mcp.Meta{"tenon/task": "new"})
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("a list of last month is still there")
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("todos_%d.json", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, isError, _ := call(t, dir, "add_todo", `{"titles": ["x"]}`, mcp.Meta{"tenon/task": "newest"}); !isError || !strings.Contains(text, "task plans already") {
		t.Errorf("got %q", text)
	}
	if text, isError, _ := call(t, dir, "add_todo", `{"titles": ["x"]}`, mcp.Meta{"tenon/task": "new"}); isError {
		t.Errorf("a plan that is there: %q", text)
	}
}

func TestWithoutAFolder(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "LocalAppData", "TODO_DATA_DIR"} {
		t.Setenv(name, "")
	}
	if text, isError, _ := call(t, "", "add_todo", `{"titles": ["x"]}`, nil); !isError || !strings.Contains(text, "option dir") {
		t.Errorf("got %q", text)
	}
	dir := t.TempDir()
	t.Setenv("TODO_DATA_DIR", filepath.Join(dir, "origin"))
	if text, isError, _ := call(t, "", "add_todo", `{"titles": ["x"]}`, nil); isError {
		t.Error(text)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "origin", "todos_*")); len(files) != 1 {
		t.Errorf("TODO_DATA_DIR was not taken: %v", files)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, isError, _ := call(t, file, "add_todo", `{"titles": ["x"]}`, nil); !isError || !strings.Contains(text, "cannot save the task plan") || strings.Contains(text, dir) {
		t.Errorf("got %q", text)
	}
}

// writer starts a process that adds count todos.
func writer(t *testing.T, dir, name string, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PLANNER_TEST_WRITER="+dir, "PLANNER_TEST_NAME="+name, "PLANNER_TEST_COUNT="+strconv.Itoa(count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestTwoProcessesAtOnce has two processes and this one change one list.
func TestTwoProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	const each = 40
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		cmd, lines := writer(t, dir, name, each)
		wg.Go(func() {
			for lines.Scan() { // until it ends
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 10 {
		if text, isError, _ := call(t, dir, "list_todos", `{}`, nil); isError {
			t.Error(text)
		}
	}
	wg.Wait()
	if _, _, p := call(t, dir, "list_todos", `{}`, nil); p.Total != 2*each {
		t.Errorf("%d todos, want %d", p.Total, 2*each)
	}
}

// TestKilledWriterLosesNothing kills a process at chance moments: what it was told
// is kept is kept, and the list can be read and changed.
func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	told := map[string]bool{}
	for round := range 6 {
		cmd, lines := writer(t, dir, fmt.Sprintf("r%d", round), 300)
		for range 3 + 2*round {
			if lines.Scan() {
				told[lines.Text()] = true
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told[lines.Text()] = true
		}
		_ = cmd.Wait() // it was killed
		text, isError, p := call(t, dir, "list_todos", `{}`, nil)
		if isError {
			t.Fatal(text)
		}
		kept := map[string]bool{}
		for _, todo := range p.Todos {
			kept[todo.Title] = true
		}
		for title := range told {
			if !kept[title] {
				t.Errorf("round %d: %s is lost", round, title)
			}
		}
	}
	t.Logf("%d todos were told to be kept", len(told))
}

// TestAListIsReplacedWhole holds the file of a list open over a change: who reads it
// has the list before the change, to its end.
func TestAListIsReplacedWhole(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on Windows; there the lock keeps readers out")
	}
	dir := t.TempDir()
	call(t, dir, "add_todo", `{"titles": ["before"]}`, nil)
	files, _ := filepath.Glob(filepath.Join(dir, "todos_*"))
	if err := os.WriteFile(files[0]+".next", []byte("half of a"), 0o600); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, isError, p := call(t, dir, "add_todo", `{"titles": ["after"]}`, nil); isError || p.Total != 2 {
		t.Errorf("%+v", p)
	}
	var kept struct{ Todos []any }
	if err := json.NewDecoder(f).Decode(&kept); err != nil || len(kept.Todos) != 1 {
		t.Errorf("the open file was written to: %+v, %v", kept, err)
	}
}

func TestACancelledCallChangesNothing(t *testing.T) {
	dir := t.TempDir()
	cs, stop, err := dial(t.Context(), planner.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "add_todo", Arguments: map[string]any{"titles": []string{"x"}}}); err == nil {
		t.Error("a canceled call was answered")
	}
}
