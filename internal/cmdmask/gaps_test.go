package cmdmask_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// TestCommandLinesOfPrograms gives argument lists, which may hold spaces; what is
// left of each must not hold hush.
func TestCommandLinesOfPrograms(t *testing.T) {
	for _, args := range [][]string{
		{"redis-server", "*:6379", "--requirepass", "hush"},
		{"redis-cli", "config", "set", "requirepass", "hush"},
		{"sudo", "-u", "me", "mysql", "-phush", "db"},
		{"sudo", "mysql", "-phush"},
		{"timeout", "5", "mysqldump", "-phush", "db"},
		{"/usr/bin/env", "nice", "-n", "5", "/opt/x/mysql", "-phush"},
		{"docker", "login", "-u", "me", "-p", "hush"},
		{"docker", "login", "-u", "mysql", "-p", "hush"},
		{"docker", "login", "-u", "aws", "-phush"},
		{"curl", "--user=me:hush", "http://x"},
		{"curl", "-su", "me:hush", "http://x"},
		{"curl", "-b", "a=hush", "http://x"},
		{"wget", "--http-password", "hush"},
		{"sh", "-c", "cd /x; mysql -phush db"},
		{"sh", "-c", "FOO=1 mysql -phush db"},
		{"bash", "-lc", "/usr/bin/mysql -phush"},
		{"sh", "-c", "vault login hush"},
		{"app", "DBPASS=hush", "SECRET_KEY_BASE=hush"},
		{"app", "--dbpass", "hush"},
		{"app", "--passwords=hush", "--password1=hush", "DB_PASSWORD_RO=hush"},
		{"app", "API_KEY_OLD=hush", "TOKEN_2=hush"},
		{"app", "--password", "--hush"},
		{"app", "--password", "--token", "hush"},
		{"smbclient", "-U", "u%hush", "//h/s"},
		{"smbclient", "-Uu%hush", "//h/s"},
		{"smbclient", "--user=u%hush", "//h/s"},
		{"java", "-Dx.keyStorePass=hush", "-Dawssecretkey=hush"},
		{"keytool", "-storepass", "hush", "-keypass", "hush"},
		{"vault", "login", "-no-print", "hush"},
		{"plink", "-pw", "hush", "h"},
		{"sqlcmd", "-S", "h", "-P", "hush"},
		{"mosquitto_sub", "-P", "hush"},
		{"ldapsearch", "-whush"},
		{"ldapsearch", "-D", "x", "-w", "hush"},
		{"python3", "-c", "import x\npassword = (\n 'hush')"},
		{"curl", "-d", `{\"password\":\"hu\\\"sh hush\",\"a\":1}`, "x"},
		{"node", "app.js", `{"passwords":["hush", "hush"]}`},
		{"curl", "-d", "<password>hush hush</password>", "x"},
		{"curl", "https://hooks.slack.com/services/T00/B00/hush"},
		{"curl", "https://discord.com/api/webhooks/1234/hush"},
		{"curl", "https://x/?password%3Dhush"},
		{"curl", "-H", "Authorization:", "Token", "hush"},
		{"mysql", "-u", "root", "-p", "hush"},
		{"openssl", "rsa", "-passin", "pass:hush"},
		{"gpg", "--passphrase", "hush"},
		{"sshpass", "-phush", "ssh", "h"},
		{"mongosh", "-u", "a", "-p", "hush"},
		{"pg_dump", "host=h user=u password='hu sh' password='hush hush'"},
		{"aws", "configure", "set", "aws_secret_access_key", "hush"},
		{"kubectl", "create", "secret", "generic", "x", "--from-literal=k=hush"},
		{"kubectl", "create", "secret", "generic", "x", "--from-literal", "k=hush"},
		{"htpasswd", "-bc", "f", "user", "hush"},
		{"htpasswd", "-nb", "user", "hush"},
		{"rabbitmqctl", "add_user", "u", "hush"},
		{"mysqladmin", "-u", "root", "password", "hush"},
		{"expect", "-c", "spawn ssh h\nexpect password:\nsend hush\\r"},
		{"rclone", "--password-command=echo hush"},
		{"x", "postgres://u:hush%40h/db"},
		{"x", "mongodb://u:hush/@h,h2/db"},
		{"x", "http_proxy=http://u:hu@hush@h"},
		{"x", "http://a/b?c=http://u:hush@h/"},
		{"psql", "postgresql://u@h/db?user=a&password=hush"},
		{"influx", "-token", "hush"},
		{"wpa_passphrase", "ssid", "hush"},
		{"lftp", "-u", "me,hush", "h"},
		{"http", "-a", "me:hush", "h"},
		{"zip", "-Phush", "a.zip", "b"},
		{"CMD-SHELL", "cd /x; mysqladmin -phush ping || curl --user=me:hush http://x"},
		{"x", "me:$apr1$abcdefgh$hush,you:$2y$05$hushhushhush"},
		{"docker", "run", "x", `["redis-server","--requirepass","hush"]`},
	} {
		if got := cmdmask.Line("comm", args); strings.Contains(got, "hush") || !strings.Contains(got, cmdmask.Masked) {
			t.Errorf("%q\nis shown as %s", args, got)
		}
	}
}

// TestHarmlessCommandLines stay as they are.
func TestHarmlessCommandLines(t *testing.T) {
	for _, line := range []string{
		"psql -p 5432 -h db", "redis-server *:6379", "docker run -p 8080:80 nginx", "restic --password-file /x", "git config user.name me", "aws s3 ls s3://x",
		"kubectl get secret x -o yaml", "vault status", "htpasswd -c f user", "app --no-password --verbose", "app --bypass x", "mkdir -p /x", "ssh -p 22 h",
		"curl https://h/a:b/c?d=e@f", "gcc -c x.c -o x.o", "env TZ=UTC LANG=C app",
	} {
		if got := cmdmask.Line("comm", strings.Fields(line)); got != line {
			t.Errorf("%s\nis shown as %s", line, got)
		}
	}
}

// TestTextOfFiles holds what files in settings of a cluster look like.
func TestTextOfFiles(t *testing.T) {
	for _, text := range []string{
		"db:\n  password: |\n    hush\n\n    hush\n  token: >-\n    hush\n  api_key: !!str hush\n  user: me",
		"- password: |2+ # said\n    hush\n  user: me",
		"passwords:\n  - hush\n  - hush\nuser: me",
		"passwords: [hush, \"hush\"]\nuser: me",
		"<server><id>x</id><password>hush</password></server> me",
		"<x:password type=\"a\"><![CDATA[hush > hush]]></x:password> me",
		"<key>db_password</key>\n<string>hush</string> me",
		`<add key="DbPassword" value="hush" /> me`,
		"- name: DB_PASSWORD\n  value: hush\n- name: USER\n  value: me",
		`{"name":"DB_PASSWORD","value":"hush"},{"name":"USER","value":"me"}`,
		`{\"name\":\"DB_PASSWORD\",\"value\":\"hush\"} me`,
		"machine h login me password hush\n",
		"machine h\nlogin me\npassword hush\n",
		"requirepass hush\nport 1 me",
		"CREATE USER me IDENTIFIED BY 'hush hush'",
		"ALTER USER me WITH PASSWORD 'hush'",
		"password => \"hush\", user => me",
		"password := `hush` // me",
		"password = \"\"\"hush\nhush\"\"\"\nme",
		"me password=\"hush hush",
		"me Cookie: a=hush; b=hush",
		`me {"msg":"{\"password\":\"hush hush\"}"}`,
		`me {"msg":"{\"a\":\"{\\\"password\\\":\\\"hush hush\\\"}\"}"}`,
		`me "password":1234567hush`,
		"\x1b[36mpassword\x1b[0m=hush me",
		"pass\x1b[1mword\x1b[0m: hush me",
		"\\u001b[36mpassword\\u001b[0m=hush me",
		"#033[36mpassword#033[0m=hush me",
		"-----BEGIN RSA PRIVATE KEY-----\nhush\n-----END RSA PRIVATE KEY-----\nme",
	} {
		if got := cmdmask.Text(text); strings.Contains(got, "hush") || !strings.Contains(got, "me") {
			t.Errorf("%s\nis shown as\n%s", text, got)
		}
	}
}

// TestHarmlessText stays as it is.
func TestHarmlessText(t *testing.T) {
	for _, text := range []string{
		"secret:\n  secretName: x\n  optional: true\n", "tokenExpirationSeconds: 3600", "imagePullSecrets:\n- name: x\n", "usage: x --port <port> [y]",
		"password_file: /x", "PasswordAuthentication: no", `{"secret":{"name":"x"}}`, "Failed password for root from 192.0.2.1", "password incorrect", "GET /a?b=c HTTP/1.1", "`pin`: it is held", "secrets: {file: ./secrets.age}",
		"2026-01-02T03:04:05Z started: 10% done", "name: web\nvalue: 1", "Accepted publickey for x", "[[ $a == b ]]",
	} {
		if got := cmdmask.Text(text); got != text {
			t.Errorf("%q\nis shown as\n%q", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	for name := range strings.FieldsSeq("PASSWORD DB_PASSWORD_RO db.password clientSecret SECRET_KEY_BASE secret_id password1 passwords keyStorePass dbpass DBPASS requirepass masterauth TOKEN_2 API_KEY_OLD apiKey x-api-key aws_secret_access_key awssecretkey MYSQL_PWD rootpw") {
		if !cmdmask.Secret(name) {
			t.Errorf("%s is none", name)
		}
	}
	for name := range strings.FieldsSeq("passwordFile secretName BYPASS compass monkey author pass-through topology keyboard tokenizer secretKeyRef passwordPolicy MIN_PASSWORD_LENGTH") {
		if cmdmask.Secret(name) {
			t.Errorf("%s is one", name)
		}
	}
}

// hostile are beginnings that have no end, many times.
var hostile = []string{"y|`", "password=\"", "password='", `password=\"`, "<password>", "://", "a://b:c", "password: |\n", "password: |", "passwords: [", " --password", "key=", "name: password ", "key:\n- ", "\"key:x ", "mysql -p ", "'", "-H x: ", "\\", "=", "a b c password is ", "\x1b[", "\\x1b[", "Bearer ", "eyJ", "-----BEGIN "}

// TestLongTextIsFast holds that time grows with length only.
func TestLongTextIsFast(t *testing.T) {
	for _, h := range hostile {
		d := time.Hour
		for try := 0; try < 3 && d > 3*time.Second; try++ { // others work on this machine
			begin := time.Now()
			cmdmask.Text(strings.Repeat(h, 200_000/len(h)))
			d = time.Since(begin)
		}
		if d > 3*time.Second {
			t.Errorf("%q: %v for 200 kB", h, d)
		} else {
			t.Logf("%q: %v", h, d)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, h := range hostile {
		f.Add(h + h)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		cmdmask.Text(s)
		cmdmask.Joined(s)
	})
}

var line = "2026-01-02T03:04:05Z INFO request served path=/a/b?c=d status=200 user=me took=12ms password=not-a-real-key "

func BenchmarkText(b *testing.B) {
	for name, s := range map[string]string{"line": line, "plain": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2000), "lines": strings.Repeat(line+"\n", 1000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				cmdmask.Text(s)
			}
		})
	}
}
