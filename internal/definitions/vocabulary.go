package definitions

import (
	"strings"
	"sync"
)

// A class is what a word may mean. A word has some.
type class uint64

const (
	cIgnore     class = 1 << iota // ignore, forget
	cPrior                        // previous, above
	cAll                          // all, any
	cSystem                       // system, developer
	cOrder                        // instructions, prompt
	cRule                         // rules, policy
	cNot                          // not, never
	cTell                         // tell, mention
	cUser                         // user, human
	cHidden                       // hidden, secret
	cKeep                         // keep
	cHide                         // hide, conceal
	cKnow                         // know, notice
	cMust                         // must, may
	cAlways                       // always, whenever
	cRead                         // read, open
	cSend                         // send, upload
	cPass                         // pass, include
	cContents                     // contents
	cPath                         // a file that holds secrets
	cSecret                       // password, token
	cTalk                         // conversation, chat
	cWhole                        // whole, complete
	cAddress                      // an address of the web or of mail
	cInto                         // in, into, to, as
	cBefore                       // before, first
	cUse                          // use, call
	cTool                         // tool
	cServer                       // server, tools
	cOther                        // other
	cInstead                      // instead, replaces
	cFollow                       // follow, obey
	cVoid                         // void, suspended
	cNoLonger                     // no longer
	cNew                          // new
	cModel                        // assistant, model
	cYou                          // you
	cAgreed                       // agreed, approved
	cAsk                          // ask
	cConsent                      // confirmation, approval
	cSkip                         // skip, exempt
	cEverything                   // everything
	cSaid                         // said, told
	cMessage                      // message
	cSilently                     // silently
	cMode                         // mode
	cFree                         // unrestricted, jailbroken
	cSafety                       // safety, security
	cSysPrompt                    // the system prompt
	cFile                         // file
	cMixed                        // has letters of several scripts
	cApply                        // apply, hold
	cShell                        // shell, terminal
	cMild                         // bother, fail: what follows is not meant so
	cOpen                         // read, open, but not get
	cReal                         // real, only
	cTask                         // task, goal
	cLimit                        // restrictions, limits
	cThat                         // that, it
	cAlready                      // already
	cAdmin                        // operator, platform
	cTold                         // told, instructed
	cNowOn                        // from now on
	cNone                         // nobody
)

// A lexicon is what a Scanner knows of words. It is made when the first one is.
type lexicon struct {
	words  map[string]class
	dotted map[string]class // names of files with secrets behind a dot
	rules  []rule
}

var theLexicon = sync.OnceValue(func() *lexicon {
	return &lexicon{
		words:  words(vocabulary()),
		dotted: words(map[class]string{cPath: `ssh env netrc npmrc pypirc gnupg aws pgpass`}),
		rules:  prepared(ruleList()),
	}
})

// vocabulary returns the words of each class, in the languages that are looked for:
// English, German, French, Spanish, Italian, Portuguese, Dutch and Russian. Letters
// stand without accents.
func vocabulary() map[class]string {
	return map[class]string{
		cIgnore: `cancel overrides overriding ignores aside ignore ignoring disregard disregarding forget discard override overrule neglect
		ignoriere ignorieren ignoriert missachte vergiss vergesst ignorez oublie oubliez neglige ignora ignorad ignoren olvida olviden
		ignorare ignori dimentica dimenticate ignorar desconsidere desconsiderar esqueca esquecer negeer vergeet
		игнорируй игнорируйте игнорировать забудь забудьте проигнорируй`,
		cPrior: `antes vorher avant prima previous previously prior above earlier preceding foregoing former before
		vorherigen vorherige bisherigen bisherige vorigen obigen fruheren precedentes precedents precedente dessus anterieures
		anteriores anterior previas previos precedenti precedente eerdere vorige bovenstaande
		предыдущие предыдущих прежние прошлые вышеуказанные ранее`,
		cAll:    `all any every alle tous toutes todas todos tutte tutti все всё`,
		cSystem: `system developer developers systemprompt initial original`,
		cOrder: `instruction instructions prompt prompts directive directives anweisung anweisungen instruktionen vorgaben consignes
		instrucciones instruccion istruzioni istruzione instrucoes instrucao instructies opdrachten инструкции инструкций указания указаний`,
		cRule: `context rule rules guideline guidelines guidance policy policies constraints restrictions limitations safeguards guardrails
		regeln richtlinien regles reglas regole regras regels правила правил`,
		cNot: `not dont never without cannot no doesnt shouldnt mustnt wont nothing nicht nie niemals ohne nichts ne pas jamais sans
		nunca jamas sin non mai senza nao sem niet nooit zonder не никогда без`,
		cTell: `tell telling mention mentioning inform informing reveal revealing disclose disclosing notify notifying alert alerting say
		sage sagen sagt erwahne erwahnen informiere informieren verrate dis dites dire mentionne mentionner informe informer
		digas diga decir menciones informes dica menzionare informare conte diga mencione zeg vertel meld
		говори говорите сообщай сообщайте упоминай`,
		cUser: `user users human humans person customer owner anyone anybody them operator benutzer benutzern nutzer nutzern anwender
		utilisateur utilisateurs usuario usuarios utente utenti gebruiker пользователю пользователь пользователя`,
		cHidden:   `unaware hidden secret confidential invisible private unnoticed undetected geheim verborgen cache secreto oculto nascosto segreto`,
		cKeep:     `keep keeping stay stays remain remains halte garde mantieni mantener`,
		cHide:     `hide conceal withhold verbirg verheimliche verberge`,
		cKnow:     `notices knows finds know notice see find learn realize aware suspect noticing knowing seeing finding learning realizing discover wissen merken`,
		cMust:     `needed necessary must should may shall need needs has required allowed have supposed`,
		cAlways:   `always whenever when every each everytime automatically immer toujours siempre sempre altijd всегда`,
		cRead:     `read reading open opening load fetch get retrieve collect copy dump cat print access reads lies lis lire lee leer leggi leia lees gather extract`,
		cSend:     `send sends sending post posting upload uploading forward forwarding transmit submit exfiltrate email mail bcc cc deliver relay leak`,
		cPass:     `pass passing put include including add append attach insert paste provide supply place fill hand supplying passe ubergib incluye inclua`,
		cContents: `content contents inhalt contenu contenido contenuto conteudo text value output`,
		cSecret: `password passwords passphrase passwort credentials apikey apikeys secrets tokens keys cookies
		contrasena senha`,
		cTalk:       `conversation conversations chat dialogue gesprach`,
		cWhole:      `whole complete entire full verbatim exact current total history everything all recent last`,
		cInto:       `in into to as within at via by along with`,
		cBefore:     `before prior first bevor vor avant antes prima voor перед`,
		cUse:        `use uses using call calls calling invoke invoking execute executing running run trust used called utiliser benutze benutzen`,
		cTool:       `tool tools function functions werkzeug outil outils herramienta`,
		cServer:     `server servers tools`,
		cOther:      `other others another`,
		cInstead:    `replaced superseded instead replaces replace supersedes superseded prefer deprecated broken rather preceded`,
		cFollow:     `follow obey comply heed respect adhere befolge`,
		cVoid:       `withdrawn void obsolete invalid suspended revoked lifted disabled null cancelled canceled overridden outdated nullified`,
		cNoLonger:   `longer`,
		cNew:        `new updated neue nouvelles nuevas nuove novas nieuwe новые`,
		cModel:      `assistant model ai llm agent chatbot claude gpt assistent`,
		cYou:        `you your yourself du tu usted sie`,
		cAgreed:     `agreed approved authorized authorised consented confirmed permitted granted accepted signed`,
		cAsk:        `ask asking request requesting require requiring seek wait prompting frage`,
		cConsent:    `confirmation permission approval consent confirm authorization erlaubnis bestatigung permiso autorisation`,
		cSkip:       `skip skipped bypass bypassed waived exempt circumvent evade omit disable suppress`,
		cEverything: `everything anything whatever alles tout todo tutto tudo`,
		cSaid:       `gesagt dieron dit detto dito said told learned learnt typed written given been instructed gave`,
		cMessage:    `message announcement notice note`,
		cSilently:   `silently secretly covertly quietly stealthily unobtrusively`,
		cMode:       `mode modus`,
		cFree:       `unrestricted jailbroken jailbreak uncensored dan unfiltered`,
		cSafety:     `safety security content privacy`,
		cFile:       `file files fichier datei archivo`,
		cApply:      `valid apply applies hold holds matter count bind`,
		cShell:      `shell terminal bash cmd powershell`,
		cMild:       `bother fail fails failing failed`,
		cOpen:       `read open cat load look lies lis lire lee leer leggi leia`,
		cReal:       `actual real true only sole primary wahre`,
		cTask:       `task job goal purpose mission objective aufgabe`,
		cLimit:      `restrictions restriction limits limitations boundaries filters censorship`,
		cThat:       `that this these it anything`,
		cTold:       `told instructed taught trained ordered gesagt`,
		cNone:       `nobody niemand personne nadie nessuno ninguem niemand никто`,
		cAlready:    `already advance beforehand previously`,
		cAdmin:      `operator operators administrator administrators admin platform`,
	}
}

type compound struct {
	first string
	class class
}

// compounds are names of several words, by the last of them.
var compounds = map[string][]compound{
	"rsa":         {{"id", cPath}},
	"ed25519":     {{"id", cPath}},
	"ecdsa":       {{"id", cPath}},
	"passwd":      {{"etc", cPath}},
	"shadow":      {{"etc", cPath}},
	"json":        {{"mcp", cPath}, {"desktop_config", cPath}, {"credentials", cPath}},
	"hosts":       {{"gh", cPath}},
	"config":      {{"kube", cPath}},
	"history":     {{"bash", cPath}, {"conversation", cTalk | cWhole}, {"chat", cTalk | cWhole}, {"message", cTalk | cWhole}},
	"printenv":    {{"of", cPath}, {"run", cPath}},
	"environ":     {{"self", cPath}},
	"dat":         {{"wallet", cPath}},
	"key":         {{"api", cSecret}, {"private", cSecret}, {"secret", cSecret}, {"access", cSecret}, {"ssh", cSecret}},
	"keys":        {{"api", cSecret}, {"private", cSecret}, {"secret", cSecret}, {"access", cSecret}, {"ssh", cSecret}},
	"token":       {{"access", cSecret}, {"auth", cSecret}, {"session", cSecret}},
	"variables":   {{"environment", cSecret}},
	"prompt":      {{"system", cTalk | cOrder | cPrior | cSysPrompt}},
	"message":     {{"system", cOrder | cPrior}, {"developer", cOrder | cPrior}},
	"attention":   {{"no", cIgnore}},
	"on":          {{"now", cNowOn}},
	"approved":    {{"pre", cAgreed | cAlready}},
	"credentials": {{"aws", cPath}, {"git", cPath}},
}

// words turns the lists of a vocabulary around.
func words(lists map[class]string) map[string]class {
	m := make(map[string]class, 700)
	for c, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] |= c
		}
	}
	return m
}
