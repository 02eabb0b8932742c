package text

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// A guess is an encoding, and how likely a text in it would have just these bytes: the
// sum of the logarithms, so that less than nothing is usual.
type guess struct {
	name  string
	e     encoding.Encoding
	score float64
}

// Bounds of guessing by letters: texts with more letters beyond ASCII than few are told
// by their bytes, which needs many.
const (
	few    = 400 // bytes beyond ASCII
	narrow = 4.0 // a second guess within this may be the right one
)

// guesses returns what a short text may be encoded in, the likeliest first: each encoding
// that can read it is compared by how common the letters are that it makes of it.
func guesses(head []byte) []guess {
	var all []guess
	for _, m := range models() {
		e, name := charset.Lookup(m.name)
		text, err := e.NewDecoder().Bytes(head)
		if err != nil || strings.ContainsRune(string(text), utf8.RuneError) {
			continue
		}
		all = append(all, guess{name, e, m.prior + m.score(string(text), e)})
	}
	slices.SortStableFunc(all, func(a, b guess) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	return all
}

// beyond counts the bytes that are not of ASCII.
func beyond(head []byte) int {
	n := 0
	for _, c := range head {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// A model is what texts in an encoding look like.
type model struct {
	name  string
	prior float64            // how rare such texts are
	cost  map[rune]float64   // of letters that are common
	rest  func(rune) float64 // of all others
	wide  bool               // two bytes for a letter, which says how common it is
}

// ascii is what a letter of ASCII costs: an encoding that takes it for half of another
// letter saves that.
const ascii = -3

func (m model) score(text string, e encoding.Encoding) float64 {
	sum, foreign := 0.0, 0 // letters beyond ASCII in a row
	var last rune
	enc := e.NewEncoder()
	for _, r := range text {
		if r < utf8.RuneSelf {
			sum += ascii
			if m.prior != latin && !m.wide && last >= utf8.RuneSelf && unicode.IsLetter(last) && unicode.IsLetter(r) {
				sum -= 5
			}
			foreign, last = 0, r
			continue
		}
		c, known := m.cost[unicode.ToLower(r)]
		switch {
		case known:
		case m.wide:
			b, err := enc.Bytes([]byte(string(r)))
			if err != nil {
				b = nil
			}
			c = m.rest(r) + pair(m.name, b)
		default:
			c = m.rest(r)
		}
		if unicode.IsUpper(r) {
			switch {
			case !unicode.IsLetter(last):
				c -= 1.5
			case unicode.IsUpper(last):
				c -= 0.3
			default:
				c -= 7 // within a word
			}
		}
		switch {
		case m.wide || m.prior == latin:
		case last < utf8.RuneSelf && unicode.IsLetter(last): // two scripts in a word
			c -= 5
		case strings.ContainsRune(finals, last) && unicode.IsLetter(r):
			c -= 5
		}
		if foreign++; m.prior == latin && foreign > 2 && unicode.IsLetter(r) {
			c -= 2.5
		}
		sum, last = sum+c, r
	}
	return sum
}

// pair says how common a letter of two bytes is that is none of the most common ones:
// national standards put common letters first.
func pair(name string, b []byte) float64 {
	if len(b) != 2 {
		return -6
	}
	first, second := b[0], b[1]
	level := func(common, rare bool) float64 {
		switch {
		case common:
			return 0
		case rare:
			return -2
		}
		return -4.5
	}
	switch name {
	case "gb18030":
		return level(first >= 0xb0 && first <= 0xd7 && second >= 0xa1, first >= 0xd8 && first <= 0xf7 && second >= 0xa1)
	case "big5":
		return level(first >= 0xa4 && first <= 0xc6, first >= 0xc9 && first <= 0xf9)
	case "shift_jis":
		return level(first >= 0x88 && first <= 0x97, first >= 0x98 && first <= 0x9f || first >= 0xe0 && first <= 0xea)
	case "euc-jp":
		return level(first >= 0xb0 && first <= 0xcf, first >= 0xd0 && first <= 0xf4)
	}
	return level(first >= 0xb0 && first <= 0xc8, first >= 0xca && first <= 0xfd)
}

// finals are letters of Hebrew that end a word.
const finals = "םןץףך"

// latin marks the models of Latin letters, most of which are of ASCII.
const latin = -0.5

func models() []model {
	never := func(rune) float64 { return -9 }
	han := func(rune) float64 { return -9.5 }
	japanese := func(r rune) float64 {
		switch {
		case r >= 0x3041 && r <= 0x3096:
			return -5
		case r >= 0x30a1 && r <= 0x30fc:
			return -5.5
		case r >= 0xff61 && r <= 0xff9f: // of one byte: what other encodings look like
			return -3
		}
		return -9.5
	}
	korean := func(r rune) float64 {
		if r >= 0xac00 && r <= 0xd7a3 {
			return -8
		}
		return -11
	}
	return []model{
		{"windows-1252", latin, costs(-4, "äöüßéèêëàâçîïôùûñáíóúãõåøæ", -5, "–—„“”’…«»°§€©®", -6, "ìòýþðœšž¿¡²³·½ªº"), never, false},
		{"windows-1251", 0, frequencies("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґ", 11, 8.5, 8, 7.4, 6.7, 6.3, 5.5, 4.7, 4.5, 4.4, 3.5, 3.2, 3, 2.8, 2.6, 2, 1.9, 1.7, 1.7, 1.6, 1.6, 1.4, 1.2, 1, .9, .7, .6, .5, .4, .3, .3, .04, .04, .3, .2, .2, .03), never, false},
		{"koi8-r", -2, frequencies("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", 11, 8.5, 8, 7.4, 6.7, 6.3, 5.5, 4.7, 4.5, 4.4, 3.5, 3.2, 3, 2.8, 2.6, 2, 1.9, 1.7, 1.7, 1.6, 1.6, 1.4, 1.2, 1, .9, .7, .6, .5, .4, .3, .3, .04, .04), never, false},
		{"gb18030", 0, costs(-6.4, simplified, -5, wideMarks), han, true},
		{"shift_jis", -0.2, costs(-7, kanji, -4, "、。", -6, wideMarks), japanese, true},
		{"big5", -0.4, costs(-6.4, traditional, -5, wideMarks), han, true},
		{"euc-kr", -0.6, costs(-5, syllables, -6, wideMarks), korean, true},
		{"euc-jp", -2, costs(-7, kanji, -4, "、。", -6, wideMarks), japanese, true},
		{"windows-1250", latin, costs(-4.5, "ąęłśżźćńóáčďéěíňřšťúůýžőűäöüß", -5.5, "–—„“”’…«»°§€", -7, "ăâîşţçëôđĺľŕ"), never, false},
		{"windows-1253", -3, frequencies("αοιετσνηυρπκςμλίάόγδέωθχήφβύώξζψ", 10, 9, 8, 8, 8, 5, 6.5, 5, 4.5, 4.5, 4, 4, 4, 3.3, 3, 2.5, 2, 2.5, 1.8, 1.8, 2, 2, 1.2, 1.2, 1.5, .9, .8, 1, 1, .4, .35, .2), never, false},
		{"windows-1255", -2, frequencies("יוהלארתשמבנדםחקעפכטצגזסןףץך", 11, 10, 9, 7.5, 6.5, 6, 5.5, 5, 5.5, 5, 4, 3, 3, 9, 2.5, 3, 2, 2.5, 1.5, 1.2, 1.2, 1, 1.5, 6, 1, 1, 3), never, false},
		{"windows-1256", -4, frequencies("اليمونرتبةعدسفهكقأحجشصطخذثزضغظىإئءؤآ،؟", 12, 11, 7, 6.5, 6, 6, 5, 5, 4, 3.5, 4, 3.5, 3.5, 3, 4, 3, 2.5, 3, 2.5, 2, 1.5, 1.3, 1.2, 1.2, 1, 1, .8, .8, .7, .3, 1, 1, .4, .4, .2, .3, .5, .2), never, false},
	}
}

// costs gives groups of letters a cost for each letter.
func costs(groups ...any) map[rune]float64 {
	m := map[rune]float64{}
	cost := 0.0
	for _, g := range groups {
		switch g := g.(type) {
		case float64:
			cost = g
		case int:
			cost = float64(g)
		case string:
			for _, r := range g {
				m[r] = cost
			}
		}
	}
	return m
}

// frequencies gives letters the cost of how often each stands in a hundred.
func frequencies(letters string, percent ...float64) map[rune]float64 {
	m := map[rune]float64{'–': -6, '—': -6, '«': -6, '»': -6, '„': -6.5, '“': -6.5, '”': -6.5, '…': -7, '№': -7}
	for i, r := range []rune(letters) {
		m[r] = math.Log(percent[i] / 100)
	}
	return m
}

// The most common letters of languages that have thousands.
const (
	wideMarks  = "，。、：；？！“”‘’（）《》「」『』·…—　"
	simplified = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笔姓址京城请文件您号网帮助谢欢迎午晚早价钱买卖店"

	traditional = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命山金指許統區保至社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取望覺術領共確傳師觀清今切院讓識候帶導爭運台灣請您號網幫助謝歡迎"

	kanji = "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元重近考画海売知道集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽起着店病質待試族銀早映験親英医仕去味写字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服夕借曜飲肉貸堂鳥飯勉冬昼茶弟牛魚兄犬妹姉漢阪藤佐鈴木郎"

	syllables = "이다는을의가에지고하한은로를어기사서도자리그아시나대해인스수있라부정으제장보주전여일에원것들과구상적게조만면와까진안공연유오경성선위치비생무우국모동마방신명계미없니세트되저요음개관용중행단문거간분던회말당할체드야때른했습안녕합감울"
)
