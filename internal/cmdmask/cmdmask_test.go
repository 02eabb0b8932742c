package cmdmask_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// TestCommandLineIsMasked gives each command line a secret that holds the word
// hush; what is left must not, and must still say what the program does.
func TestCommandLineIsMasked(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"app --password=hush", "app --password=•••"},
		{"app --password hush --verbose", "app --password ••• --verbose"},
		{"app -password hush", "app -password •••"},
		{"app --db-password hush", "app --db-password •••"},
		{"app --dbpassword=hush", "app --dbpassword=•••"},
		{"app --client-secret hush", "app --client-secret •••"},
		{"app --apiKey=hush", "app --apiKey=•••"},
		{"app --access_token=hush", "app --access_token=•••"},
		{"java -Dspring.datasource.password=hush -Xmx1g", "java -Dspring.datasource.password=••• -Xmx1g"},
		{"env AWS_SECRET_ACCESS_KEY=hush aws s3 ls", "env AWS_SECRET_ACCESS_KEY=••• aws s3 ls"},
		{"env PGPASSWORD=hush psql", "env PGPASSWORD=••• psql"},
		{"app /password:hush", "app /password:•••"},
		{"curl -u me:hush https://example.com/x", "curl -u me:••• https://example.com/x"},
		{"curl -ume:hush https://example.com/x", "curl -ume:••• https://example.com/x"},
		{"curl https://me:hush@example.com/x", "curl https://me:•••@example.com/x"},
		{"curl https://me:hu/sh@hush@example.com/x", "curl https://me:•••@example.com/x"},
		{"git clone https://hushhush@example.com/x", "git clone https://•••@example.com/x"},
		{"curl https://example.com/x?user=me&token=hush", "curl https://example.com/x?user=me&token=•••"},
		{"curl -H|Authorization: Bearer hush", "curl -H Authorization:•••"},
		{"curl -H|X-Api-Key: hush", "curl -H X-Api-Key:•••"},
		{"sh -c|run 'Authorization: Bearer hushhushhush' now", "sh -c run 'Authorization: •••' now"},
		{`sh -c|run {"password": "hu\"sh hush", "user": "me"}`, `sh -c run {"password": •••, "user": "me"}`},
		{"sh -c|echo x; MYSQL_PWD=hush mysql", "sh -c echo x; MYSQL_PWD=••• mysql"},
		{"sh -c|curl --password 'hush hush'", "sh -c curl --password •••"},
		{"bash -c|cd /x && mysql -phush db", "bash -c cd /x && mysql -p••• db"},
		{"sh -c|sudo curl -u me:hush https://example.com", "sh -c sudo curl -u me:••• https://example.com"},
		{"mysql -uroot -phush db", "mysql -uroot -p••• db"},
		{"redis-cli -a hush ping", "redis-cli -a ••• ping"},
		{"sshpass -p hush ssh me@host", "sshpass -p ••• ssh me@host"},
		{"openssl enc -k hush -in file", "openssl enc -k ••• -in file"},
		{"app sk-hush567890123456789 run", "app ••• run"},
		{"app ghp_hush5678901234567890 run", "app ••• run"},
		{"app eyJhbGciOiJI.hush56789012.hush run", "app ••• run"},
		{"app --dsn=postgres://u:hush@h/db", "app --dsn=•••"},
		{"app --conn Server=h;Password=hush;", "app --conn Server=h;Password=•••"},

		{"app pw=hush", "app pw=•••"},
		{"curl --user=u:hush https://h/", "curl --user=u:••• https://h/"},
		{"-u root:hush x", "-u root:••• x"},
		{"curl|-u root:hush", "curl -u root:•••"},
		{"sh -c|mysql -uroot -phush db", "sh -c mysql -uroot -p••• db"},
		{"sh -c|cd /x;  mysql  -phush db", "sh -c cd /x;  mysql  -p••• db"},
		{"sh -c|true\nredis-cli -a hush ping", "sh -c true?redis-cli -a ••• ping"},
		{"sh -c|mysql -p'hush hush' db", "sh -c mysql -p••• db"},
		{"sh -c|timeout 5 sshpass -p hush ssh me@h", "sh -c timeout 5 sshpass -p ••• ssh me@h"},
		{"docker exec db mysql -phush x", "docker exec db mysql -p••• x"},
		{"timeout 5 redis-cli -a hush ping", "timeout 5 redis-cli -a ••• ping"},
		{"kubectl exec x --|redis-cli -a hush ping", "kubectl exec x -- redis-cli -a ••• ping"},
		{"sh -c|curl -H 'X-Api-Key: hush hush' http://h/", "sh -c curl -H 'X-Api-Key: •••' http://h/"},

		// What is no secret stays readable.
		{"nginx -g|daemon off;", "nginx -g daemon off;"},
		{"python -m http.server --bind 127.0.0.1 8000", "python -m http.server --bind 127.0.0.1 8000"},
		{"docker run -p 8080:80 -v /a:/b nginx", "docker run -p 8080:80 -v /a:/b nginx"},
		{"ssh -p 22 me@host", "ssh -p 22 me@host"},
		{"node server.js --monkey=1 --author=me", "node server.js --monkey=1 --author=me"},
		{"postgres: writer process", "postgres: writer process"},
	} {
		args := strings.Split(tt.line, " ")
		if head, last, ok := strings.Cut(tt.line, "|"); ok {
			args = append(strings.Split(head, " "), last)
		}
		got := cmdmask.Line(args[0], args)
		if got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.line, got, tt.want)
		}
		if strings.Contains(got, "hush") {
			t.Errorf("%s: the secret is shown: %s", tt.line, got)
		}
	}
}

func TestCommandLineIsBoundedAndPlain(t *testing.T) {
	got := cmdmask.Line("x", []string{"x", "\x1b[31mred\n", strings.Repeat("a", 5000)})
	if strings.ContainsAny(got, "\x1b\n") || len([]rune(got)) > 1200 {
		t.Errorf("%d characters: %.100q", len([]rune(got)), got)
	}
}

// FuzzCommandLine holds that a secret given by a plain option is never shown,
// whatever it is made of and whatever stands around it.
func FuzzCommandLine(f *testing.F) {
	f.Add("mysql", "-v", "se=cr:et")
	f.Add("", "\"", "'x")
	f.Fuzz(func(t *testing.T, program, other, noise string) {
		const needle = "Zq7needle7qZ"
		secret := needle + noise
		for _, args := range [][]string{
			{program, other, "--password=" + secret},
			{program, "--token", secret, other},
			{program, other, "API_KEY=" + secret},
		} {
			if strings.HasPrefix(noise, needle) || strings.Contains(program+other, needle) {
				return
			}
			if got := cmdmask.Line(program, args); strings.Contains(got, needle) {
				t.Errorf("%q is shown as %q", args, got)
			}
		}
	})
}

// TestJoined holds that a command line in one text, whose quotes are lost, is masked
// as its arguments are.
func TestJoined(t *testing.T) {
	for line, want := range map[string]string{
		"curl -H Authorization: Bearer hush http://h/":              "curl -H Authorization: ••• http://h/",
		"curl -H 'Authorization: Bearer hush' http://h/":            "curl -H 'Authorization: •••' http://h/",
		"curl -H X-Api-Key: hush http://h/":                         "curl -H X-Api-Key: ••• http://h/",
		"curl --header Authorization: Basic hush":                   "curl --header Authorization: •••",
		"curl -H Authorization: Own hush hush -v http://h/":         "curl -H Authorization: ••• -v http://h/",
		"curl -H Cookie: a=hush; b=hush http://h/":                  "curl -H Cookie: ••• http://h/",
		"sh -c mysql -uroot -phush db":                              "sh -c mysql -uroot -p••• db",
		"sh -c \"mysql -uroot -phush db\"":                          "sh -c \"mysql -uroot -p••• db\"",
		"/bin/sh -c while true; do curl -u me:hush http://h/; done": "/bin/sh -c while true; do curl -u me:••• http://h/; done",
		"/run --token hush --verbose":                               "/run --token ••• --verbose",
		"nginx: worker process":                                     "nginx: worker process",
		"sleep 1000 -H Accept: text/plain":                          "sleep 1000 -H Accept: text/plain",
		"":                                                          "",
		"  ":                                                        "",
		"x " + strings.Repeat("\"' ", 600):                          "",
	} {
		got := cmdmask.Joined(line)
		if want != "" && got != want || strings.Contains(got, "hush") {
			t.Errorf("%.200s\ngot  %.200s\nwant %s", line, got, want)
		}
	}
}

// TestTextOfLogs holds what lines of logs show.
func TestTextOfLogs(t *testing.T) {
	for line, want := range map[string]string{
		"密码：hush": "密码：•••",
		"用户 admin 的密码是hush，请登录": "用户 admin 的密码是•••，请登录",
		"password：hush":                                          "password：•••",
		"the passwd is hush now":                                 "the passwd is ••• now",
		"your token was \"hush\"":                                "your token was •••\"",
		"sudo: COMMAND=/usr/bin/mysql -phush db":                 "sudo: COMMAND=/usr/bin/mysql -p••• db",
		"printed: password=hush token: hush postgres://u:hush@h": "printed: password=••• token: ••• postgres://u:•••@h",
		"the password is wrong":                                  "the password is wrong",
		"Token is expired.":                                      "Token is expired.",
		"mysql server said don't -x":                             "mysql server said don't -x",
	} {
		if got := cmdmask.Text(line); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}
