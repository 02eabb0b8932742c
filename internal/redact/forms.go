package redact

// A token is the form of a key that begins as its maker wants it. The list follows
// what the makers say of their keys in public.
type token struct {
	prefix   string
	in       func(int) bool // of which bytes the rest is made
	min, max int            // its length; 0 is any
	mixed    bool           // it has a digit and a letter: without, it may be a name
	glued    bool           // the prefix is so short that it must not follow + / or -
}

const longToken = 4096

// tokens are the forms that are known, in the order of their makers.
func tokens() []token { return append(tokensToL(), tokensFromM()...) }

func tokensToL() []token {
	return []token{
		{prefix: "AGE-SECRET-KEY-1", in: isAlnum, min: 50, max: 62},
		{prefix: "AGE-SECRET-KEY-PQ-1", in: isAlnum, min: 50},
		{prefix: "sk-ant-", in: isURL64, min: 20}, // Anthropic
		{prefix: "ATATT3", in: isPadded, min: 60}, // Atlassian
		{prefix: "ATCTT3", in: isPadded, min: 60},
		{prefix: "AKIA", in: isBase32, min: 16, max: 16, glued: true}, // AWS
		{prefix: "ASIA", in: isBase32, min: 16, max: 16, glued: true},
		{prefix: "ABSK", in: is64, min: 100, glued: true},
		{prefix: "CFPAT-", in: isURL64, min: 40},                   // Contentful
		{prefix: "dapi", in: isHex, min: 32, max: 34, mixed: true}, // Databricks
		{prefix: "SWMTKN-1-", in: isURL64, min: 50},                // Docker
		{prefix: "dop_v1_", in: isHex, min: 64, max: 64},           // DigitalOcean
		{prefix: "doo_v1_", in: isHex, min: 64, max: 64},
		{prefix: "dor_v1_", in: isHex, min: 64, max: 64},
		{prefix: "dckr_pat_", in: isURL64, min: 20},
		{prefix: "dckr_oat_", in: isURL64, min: 20},
		{prefix: "dp.pt.", in: isAlnum, min: 40},   // Doppler
		{prefix: "dt0c01.", in: isDotted, min: 60}, // Dynatrace
		{prefix: "figd_", in: isURL64, min: 36},    // Figma
		{prefix: "FlyV1 fm2_", in: func(c int) bool { return isPadded(c) || c == ',' }, min: 60},
		{prefix: "ghp_", in: isAlnum, min: 36, max: 255}, // GitHub
		{prefix: "gho_", in: isAlnum, min: 36, max: 255},
		{prefix: "ghu_", in: isAlnum, min: 36, max: 255},
		{prefix: "ghs_", in: isDotted, min: 36, max: 1024},
		{prefix: "ghr_", in: isAlnum, min: 36, max: 255},
		{prefix: "github_pat_", in: isWord, min: 40},
		{prefix: "glpat-", in: isDotted, min: 20}, // GitLab
		{prefix: "gldt-", in: isURL64, min: 20},
		{prefix: "glrt-", in: isDotted, min: 20},
		{prefix: "glcbt-", in: isURL64, min: 20},
		{prefix: "glptt-", in: isURL64, min: 20},
		{prefix: "glagent-", in: isURL64, min: 40},
		{prefix: "gloas-", in: isURL64, min: 40},
		{prefix: "AIza", in: isURL64, min: 35, max: 35, glued: true}, // Google
		{prefix: "GOCSPX-", in: isURL64, min: 24},
		{prefix: "ya29.", in: isURL64, min: 30, glued: true},
		{prefix: "glsa_", in: isWord, min: 32}, // Grafana
		{prefix: "glc_", in: isPadded, min: 40},
		{prefix: "gsk_", in: isAlnum, min: 40, mixed: true}, // Groq
		{prefix: "hvs.", in: isURL64, min: 24},              // HashiCorp
		{prefix: "hvb.", in: isURL64, min: 24},
		{prefix: "hvr.", in: isURL64, min: 24},
		{prefix: "hf_", in: isAlnum, min: 30, max: 40}, // Hugging Face
		{prefix: "api_org_", in: isAlnum, min: 30, max: 40},
		{prefix: "lin_api_", in: isAlnum, min: 32}, // Linear
	}
}

func tokensFromM() []token {
	return []token{
		{prefix: "nfp_", in: isAlnum, min: 36},  // Netlify
		{prefix: "NRAK-", in: isAlnum, min: 27}, // New Relic
		{prefix: "ntn_", in: isAlnum, min: 40},  // Notion
		{prefix: "npm_", in: isAlnum, min: 36, max: 36},
		{prefix: "oy2", in: isAlnum, min: 43, max: 43, mixed: true}, // NuGet
		{prefix: "sk-proj-", in: isURL64, min: 20},                  // OpenAI
		{prefix: "sk-svcacct-", in: isURL64, min: 20},
		{prefix: "sk-admin-", in: isURL64, min: 20},
		{prefix: "sk-or-v1-", in: isHex, min: 40}, // OpenRouter
		{prefix: "sk-", in: isAlnum, min: 32, mixed: true},
		{prefix: "pplx-", in: isAlnum, min: 40},       // Perplexity
		{prefix: "pscale_", in: isDotted, min: 36},    // PlanetScale
		{prefix: "PMAK-", in: isURL64, min: 40},       // Postman
		{prefix: "pul-", in: isHex, min: 40, max: 40}, // Pulumi
		{prefix: "pypi-", in: isURL64, min: 60},
		{prefix: "r8_", in: isAlnum, min: 37, max: 40}, // Replicate
		{prefix: "rubygems_", in: isHex, min: 48, max: 48},
		{prefix: "SG.", in: isDotted, min: 60, max: 80, mixed: true}, // SendGrid
		{prefix: "sntrys_", in: isPadded, min: 40},                   // Sentry
		{prefix: "sntryu_", in: isHex, min: 40},
		{prefix: "shpat_", in: isHex, min: 32, max: 40}, // Shopify
		{prefix: "shpss_", in: isHex, min: 32, max: 40},
		{prefix: "shpca_", in: isHex, min: 32, max: 40},
		{prefix: "shppa_", in: isHex, min: 32, max: 40},
		{prefix: "xoxb-", in: isURL64, min: 20}, // Slack
		{prefix: "xoxp-", in: isURL64, min: 20},
		{prefix: "xoxa-", in: isURL64, min: 20},
		{prefix: "xoxr-", in: isURL64, min: 20},
		{prefix: "xoxs-", in: isURL64, min: 20},
		{prefix: "xoxe", in: isDotted, min: 20, mixed: true},
		{prefix: "xapp-", in: isURL64, min: 20, mixed: true},
		{prefix: "hooks.slack.com/services/T", in: func(c int) bool { return isAlnum(c) || c == '/' }, min: 30},
		{prefix: "discord.com/api/webhooks/", in: func(c int) bool { return isURL64(c) || c == '/' }, min: 60}, // Discord
		{prefix: "sq0atp-", in: isURL64, min: 22},                                                              // Square
		{prefix: "sq0csp-", in: isURL64, min: 40},
		{prefix: "sk_live_", in: isAlnum, min: 16}, // Stripe
		{prefix: "sk_test_", in: isAlnum, min: 16},
		{prefix: "rk_live_", in: isAlnum, min: 16},
		{prefix: "rk_test_", in: isAlnum, min: 16},
		{prefix: "whsec_", in: isPadded, min: 24},
		{prefix: "sbp_", in: isHex, min: 40, max: 40}, // Supabase
		{prefix: "sb_secret_", in: isURL64, min: 20},
		{prefix: "tskey-", in: isURL64, min: 20},             // Tailscale
		{prefix: "tvly-", in: isURL64, min: 24, mixed: true}, // Tavily
		{prefix: "tnk_", in: isWord, min: 40},                // Tenon: a caller's, and an approver's
		{prefix: "tna_", in: isWord, min: 40},
		{prefix: "SK", in: isHex, min: 32, max: 32, mixed: true, glued: true}, // Twilio
		{prefix: "xai-", in: isAlnum, min: 60},
	}
}

// isDotted reports whether a key of parts with dots between them has the byte.
func isDotted(c int) bool { return isURL64(c) || c == '.' }

// isPadded reports whether base64 of any kind has the byte, its padding included.
func isPadded(c int) bool { return is64(c) || isURL64(c) || c == '=' }

func isBase32(c int) bool { return isUpper(c) || c >= '2' && c <= '7' }

// formRules returns the rules for all forms.
func formRules() []*rule {
	var out []*rule
	for _, k := range tokens() {
		at := min(len(k.prefix), maxAnchor)
		out = append(out, &rule{anchor: k.prefix[:at], form: func(t *text, start, _ int) (span, bool) { return k.find(t, start) }})
	}
	for anchor, form := range map[string]form{
		"eyJ": jwt, "-----BEG": privateKey, "://": address, ":AA": telegram,
	} {
		out = append(out, &rule{anchor: anchor, form: form})
	}
	for _, name := range []string{
		"password", "passwd", "passphra", "passcode", "secret", "token", "api_key", "apikey", "api-key",
		"accessk", "access_k", "access-k", "private_", "privatek", "credenti", "authoriz", "_pwd", "accountk", "cookie",
	} {
		out = append(out, &rule{anchor: name, form: assignment})
	}
	return append(out, &rule{anchor: "bearer ", form: bearer})
}

// find reads a key whose prefix begins at start.
func (k *token) find(t *text, start int) (span, bool) {
	if !t.has(start, k.prefix) || !t.begins(start) {
		return span{}, false
	}
	if c := t.at(start - 1); k.glued && (c == '+' || c == '/' || c == '-') {
		return span{}, false
	}
	from := start + len(k.prefix)
	most := longToken
	if k.max > 0 {
		most = k.max + 1
	}
	end := t.run(from, most, k.in)
	n := end - from
	if n < k.min || k.max > 0 && n > k.max || isWord(t.at(end)) && n < most {
		return span{}, false
	}
	if k.mixed && !mixed(t, from, end) {
		return span{}, false
	}
	return span{start, end}, true
}

// mixed reports whether there is a digit and a letter.
func mixed(t *text, i, end int) bool {
	digit, letter := false, false
	for ; i < end; i++ {
		c := t.at(i)
		digit = digit || isDigit(c)
		letter = letter || isUpper(c) || isLower(c)
	}
	return digit && letter
}

// jwt reads a signed or encrypted JSON Web Token: three or five parts in base64,
// of which the first begins as an object does.
func jwt(t *text, start, end int) (span, bool) {
	if c := t.at(start - 1); !t.has(start, "eyJ") || !t.begins(start) || c == '.' || c == '-' || c == '+' || c == '/' {
		return span{}, false
	}
	const header = 4096
	parts := 1
	if end = t.run(end, header, isURL64); end-start < 16 {
		return span{}, false
	}
	second := end + 1
	for ; parts < 5 && t.at(end) == '.'; parts++ {
		end = t.run(end+1, 64<<10, isURL64)
	}
	if parts < 3 || parts < 5 && !t.has(second, "ey") {
		return span{}, false
	}
	return span{start, end}, true
}

// telegram reads the token of a bot: a number, and behind it 35 letters that begin
// with AA.
func telegram(t *text, at, _ int) (span, bool) {
	start := at
	for start > at-11 && isDigit(t.at(start-1)) {
		start--
	}
	end := t.run(at+1, 36, isURL64)
	if end-at != 36 || at-start < 8 || isDigit(t.at(start-1)) || !t.has(at+1, "AA") {
		return span{}, false
	}
	return span{start, end}, true
}

// address reads the password of an address: scheme://user:password@host.
func address(t *text, at, end int) (span, bool) {
	if !isAlnum(t.at(at - 1)) {
		return span{}, false
	}
	const most = 512
	colon, last := 0, 0
	for i := end; i < end+most; i++ {
		c := t.at(i)
		if c == none || c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '\\' || c == '<' || c == '>' || c == '`' || c == '?' {
			break
		}
		switch {
		case c == ':' && colon == 0:
			colon = i
		case c == '@':
			last = i
		}
	}
	if colon == 0 || last <= colon+1 || isPlaceholder(t.slice(colon+1, last)) {
		return span{}, false
	}
	return span{colon + 1, last}, true
}
