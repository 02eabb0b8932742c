package limits_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/servers/websearch/limits"
)

func filter(t *testing.T, o limits.FilterOptions) *limits.Filter {
	t.Helper()
	f, err := limits.NewFilter(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestKeywordsAreWords(t *testing.T) {
	f := filter(t, limits.FilterOptions{Keywords: []string{"secret", "api-key", "小说", "C++", "游戏"}})
	for query, refused := range map[string]bool{
		"a SECRET plan": true, "secret": true, "(secret)": true, "secret, then": true, "ｓｅｃｒｅｔ": true, "sec\u200bret": true, "密secret码": true,
		"secretary": false, "my_secret": false, "secrets": false, "nosecret": false,
		"the api-key": true, "api-keys": false, "api key": false, "learn c++ fast": true, "小说推荐": true, "最新小说": true, "文件大小说明": false, "大小说明和小说": true,
		"游戏服务器 延迟": false, "手机游戏": true,
	} {
		_, _, err := f.Check(query)
		if (err != nil) != refused || err != nil && !errors.As(err, new(*limits.Refusal)) {
			t.Errorf("%q: %v", query, err)
		}
	}
	for _, k := range limits.DefaultKeywords() {
		if _, _, err := filter(t, limits.FilterOptions{}).Check("redis " + k + " abc"); err == nil {
			t.Errorf("%s is let through", k)
		}
	}
	off := filter(t, limits.FilterOptions{KeywordsAction: limits.Off, PatternsAction: limits.Off})
	if got, removed, err := off.Check("天气 10.1.2.3"); got != "天气 10.1.2.3" || removed != nil || err != nil {
		t.Errorf("%q %q %v", got, removed, err)
	}
}

func TestPatterns(t *testing.T) {
	f := filter(t, limits.FilterOptions{Patterns: []string{`\bcorp-\d+`}})
	for query, refused := range map[string]bool{
		"10.0.0.1 down": true, "8.8.8.8": true, "127.0.0.1:6379 refused": false, "0.0.0.0 bind": false, "openssl 1.1.1.300": false, "a1.2.3.4b": false,
		"sk-ABCDEFGHIJKLMNOP": true, "sk-learn": false, "Bearer abcdef0123": true, "bearer bonds": false, "ghp_abcdefghijklmnopqrstuvwx": true, "AKIAABCDEFGHIJKLMNOP": true,
		"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0": true, "token: abcdef123": true, "token=x": false, "password policy": false, "13800138000": true, "23800138000": false,
		"110101199003078888": true, "11010119900307888X": true, "1234567890": false, "-----BEGIN RSA PRIVATE KEY-----": true, "https://u:pw12@h/": true, "corp-17 is slow": true,
	} {
		_, _, err := f.Check(query)
		if (err != nil) != refused {
			t.Errorf("%q: %v", query, err)
		}
		if err != nil && strings.Contains(err.Error(), "ABCDEFG") {
			t.Errorf("the refusal repeats it: %v", err)
		}
	}
}

// TestPersonal keeps back what belongs to a person, and nothing of ordinary queries.
func TestPersonal(t *testing.T) {
	f := filter(t, limits.FilterOptions{KeywordsAction: limits.Off, PatternsAction: limits.Redact})
	for query, want := range map[string]string{
		"who is +49 170 1234567 calling": "who is calling", "+1 (415) 555-2671": "", "call +8613800138000 now": "call now", "tel:+44 20 7946 0958": "tel", "+33.1.42.68.53.00 spam": "spam",
		"138 0013 8000 归属地": "归属地", "电话13800138000": "电话",
		"my password is Hunter22 why": "why", "my password is swordfish": "", "the PIN is 4711": "the", "password: correcthorse1 rejected": "rejected", "我的密码是abc12345": "我的", "mein Passwort ist geheim99": "mein",
		"my wifi password is blue-sky_9 how to change": "how to change",
		"DE89 3704 0044 0532 0130 00 which bank":       "which bank", "GB29NWBK60161331926819": "", "at61 1904 3002 3457 3201 then": "then", "fr14-2004-1010-0505-0001-3m02-606 iban": "iban",
		"4111 1111 1111 1111 declined": "declined", "5500-0000-0000-0004": "", "ssn 123-45-6789": "ssn",
		"who is ada.fictional+x@mail.corp.com": "who is", "mailto:bo@firm.de": "mailto:", "ＡＤＡ＠ＦＩＲＭ．ＤＥ": "",
	} {
		got, removed, err := f.Check(query)
		if err != nil {
			got = "" // nothing is left
		}
		if got != want || err == nil && removed == nil {
			t.Errorf("%q is sent as %q, without %q; want %q", query, got, removed, want)
		}
	}
	f = filter(t, limits.FilterOptions{})
	for _, query := range []string{
		"error 404 +1 vote", "c++ +20 features", "UTC+8 2024 12 31 23 59", "utc +0800 timezone", "2024-01-01 12:34:56 +0200", "+44 country code", "1+1=2", "a +123456789 b", "+1 000 000 000 dollars",
		"int 2147483647 overflow", "error 0x80070005", "2006-01-02T15:04:05+07:00", "python 3.12.1 release", "how to reset my password", "my password is not accepted by sshd", "the password is incorrect",
		"why is my password is always rejected", "password is too short zsh", "default password is empty mysql", "token is invalid", "the secret is in the sauce", "pin is broken esp32", "password is required spring", "密码是什么", "密码为空 mysql",
		"my password is hashed with bcrypt", "iban format germany", "DE89 3704 0044 0532 0130 01 invalid iban", "gb18030 encoding", "us12 airfoil data for all of the wings there are", "at24 eeprom driver does not probe on my board",
		"ISBN 978-3-16-148410-0", "4111 1111 1111 1112", "0000 0000 0000 0000", "uuid 123e4567-e89b-12d3-a456-426614174000", "unix time 1700000000000", "sha1 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		"000-12-3456", "phone format 123-45", "email regex go", "git@github.com permission denied (publickey)", "getty@tty1.service failed", "npm react@18.2.0", "user@example.com in tests", "user@localhost", "@types/node@20.1.js", "twitter @golang",
		"10000000000 bytes in gb", "ratio 16:9", "area code 212", "rfc 5322 address@domain syntax",
	} {
		if _, _, err := f.Check(query); err != nil {
			t.Errorf("an ordinary query, %q: %v", query, err)
		}
	}
}

func TestFilterOptions(t *testing.T) {
	for _, o := range []limits.FilterOptions{{Keywords: []string{" "}}, {Patterns: []string{"("}}, {Patterns: []string{"x*"}}, {Keywords: make([]string, 2000)}} {
		if _, err := limits.NewFilter(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := limits.ParseAction("maybe"); err == nil {
		t.Error("an action that is none")
	}
}

func TestWindowSlides(t *testing.T) {
	for _, file := range []string{"", filepath.Join(t.TempDir(), "new", "rate.json")} {
		now := time.Unix(1_700_000_000, 0)
		w := &limits.Window{Calls: 2, Every: time.Minute, File: file, Now: func() time.Time { return now }}
		take := func(n int) error { return w.Take(t.Context(), n) }
		if err := errors.Join(take(1), take(1)); err != nil {
			t.Fatal(err)
		}
		now = now.Add(20 * time.Second)
		if err := take(1); err == nil || !strings.Contains(err.Error(), "Search again in 40s") {
			t.Errorf("%q: %v", file, err)
		}
		now = now.Add(41 * time.Second)
		if err := take(2); err != nil {
			t.Errorf("%q: %v", file, err)
		}
		if err := take(3); err == nil {
			t.Errorf("%q: more than ever", file)
		}
		now = now.Add(-24 * time.Hour) // the clock was set back: what lies ahead does not count for ever
		if err := take(1); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
	if err := new(limits.Window).Take(t.Context(), 100); err != nil {
		t.Error(err)
	}
}

// TestWindowIsShared lets ten windows of one file make two hundred calls at once.
func TestWindowIsShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rate.json")
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			w := &limits.Window{Calls: 7, Every: time.Hour, File: file}
			for range 20 {
				if w.Take(t.Context(), 1) == nil {
					taken.Add(1)
				}
			}
			if err := w.Trouble(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 7 {
		t.Errorf("%d calls were let through", taken.Load())
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte(`{"not": "a list"`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &limits.Window{Calls: 1, Every: time.Hour, File: broken}
	if err := w.Take(t.Context(), 1); err != nil || w.Trouble() != nil {
		t.Errorf("%v, %v", err, w.Trouble())
	}
	if err := w.Take(t.Context(), 1); err == nil {
		t.Error("the file was not written")
	}
	w = &limits.Window{Calls: 1, Every: time.Hour, File: filepath.Join(broken, "below")}
	if err := w.Take(t.Context(), 1); err != nil || w.Trouble() == nil {
		t.Errorf("%v, %v", err, w.Trouble())
	}
	if err := w.Take(t.Context(), 1); err == nil {
		t.Error("without a file nothing is counted")
	}
	if runtime.GOOS != "windows" {
		secret := filepath.Join(dir, "secret")
		link := filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(secret, []byte("[]"), 0o600), os.Symlink(secret, link)); err != nil {
			t.Fatal(err)
		}
		w = &limits.Window{Calls: 1, Every: time.Hour, File: link}
		if err := w.Take(t.Context(), 1); err != nil || w.Trouble() == nil {
			t.Errorf("a link was followed: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w = &limits.Window{Calls: 1, Every: time.Hour, File: filepath.Join(dir, "rate")}
	held, err := os.OpenFile(filepath.Join(dir, "rate.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := w.Take(ctx, 1); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"redis 10.1.2.3", "小说 大小说", "secret secretary", "\xff\u200b", "Bearer abcdefgh"} {
		f.Add(s)
	}
	redact, err := limits.NewFilter(limits.FilterOptions{Keywords: []string{"secret", "小说"}, KeywordsAction: limits.Redact, PatternsAction: limits.Redact})
	if err != nil {
		f.Fatal(err)
	}
	refuse, err := limits.NewFilter(limits.FilterOptions{Keywords: []string{"secret", "小说"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, removed, err := redact.Check(s)
		if _, _, refused := refuse.Check(s); (refused != nil) != (err != nil || removed != nil) {
			t.Errorf("%q: redacted %q, refused %v", s, removed, refused)
		}
		if err == nil && removed != nil {
			if _, _, err := refuse.Check(got); err != nil {
				t.Errorf("%q became %q, which is refused: %v", s, got, err)
			}
		}
	})
}
