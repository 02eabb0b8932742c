// Package dnssec judges answers of the DNS by their signatures, from the key of
// the root down to the zone that signed:
//
//	v := dnssec.Validator{Ask: ask} // a question with the bits DO and CD
//	verdict := v.Judge(ctx, answer)
//	fmt.Println(verdict.Status, verdict.Why)
//
// It does not take the word of a name server, whose bit AD only says that the name
// server judged. What it does not do: proofs of absence (NSEC, NSEC3). So that a
// zone is unsigned, and that a record does not exist, is what the name server says;
// and of an answer made from a wildcard it is not checked that there is no nearer
// name.
package dnssec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// A Status is what a judgement comes to.
type Status string

// The statuses.
const (
	Secure   Status = "secure"   // signed, by a chain from the root
	Bogus    Status = "bogus"    // signed wrong, or not at all though the zone is signed
	Unsigned Status = "unsigned" // the zone is not signed
	Unknown  Status = "unknown"  // what is needed could not be asked, or read
)

// A Verdict is a status with its reason.
type Verdict struct {
	Status Status
	Why    string   // a sentence
	Chain  []string // the zones from the root to the one that signed
}

// Bounds on one judgement: a hostile zone can name many keys and signatures.
const (
	maxQuestions = 40
	maxVerified  = 48
)

// anchors are the keys of the root that IANA publishes, of 2017 and 2024.
var anchors = []string{
	". IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D",
	". IN DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16",
}

// A Validator judges. It is for one goroutine.
type Validator struct {
	// Ask puts a question with the bits DO and CD set.
	Ask func(ctx context.Context, name string, qtype uint16) (*dns.Msg, error)
	// Anchors are the keys of the root; nil: those of IANA.
	Anchors []*dns.DS

	zones     map[string]*zone
	failed    map[string]error
	questions int
	verified  int
}

// A zone is one whose keys are trusted.
type zone struct {
	name string
	keys []*dns.DNSKEY
	up   *zone
}

func (z *zone) chain() []string {
	var names []string
	for ; z != nil; z = z.up {
		names = append([]string{z.name}, names...)
	}
	return names
}

// A bogusError is the error for what is proven wrong.
type bogusError struct{ why string }

func (e *bogusError) Error() string { return e.why }

func bogus(format string, a ...any) error { return &bogusError{fmt.Sprintf(format, a...)} }

// Judge judges the records of the section Answer.
func (v *Validator) Judge(ctx context.Context, m *dns.Msg) Verdict {
	sets := rrsets(m.Answer)
	if len(sets) == 0 {
		return Verdict{Status: Unknown, Why: "there are no records, and proofs of absence are not checked"}
	}
	out := Verdict{Status: Secure, Why: "every signature is valid, by a chain of keys from the root"}
	for _, set := range sets {
		z, err := v.set(ctx, set, signatures(m.Answer, set))
		if err != nil {
			return verdict(err)
		}
		out.Chain = z.chain()
	}
	return out
}

var errUnsigned = errors.New("the zone is not signed (this is what the name server says; it is not proven)")

func verdict(err error) Verdict {
	if b, ok := errors.AsType[*bogusError](err); ok {
		return Verdict{Status: Bogus, Why: b.why}
	}
	if errors.Is(err, errUnsigned) {
		return Verdict{Status: Unsigned, Why: errUnsigned.Error()}
	}
	return Verdict{Status: Unknown, Why: "it could not be checked: " + err.Error()}
}

// rrsets groups records by name and type, in their order.
func rrsets(records []dns.RR) [][]dns.RR {
	var sets [][]dns.RR
	for _, rr := range records {
		if rr.Header().Rrtype == dns.TypeRRSIG {
			continue
		}
		found := false
		for i, s := range sets {
			if sameSet(s[0], rr) {
				sets[i], found = append(s, rr), true
				break
			}
		}
		if !found {
			sets = append(sets, []dns.RR{rr})
		}
	}
	return sets
}

func sameSet(a, b dns.RR) bool {
	x, y := a.Header(), b.Header()
	return x.Rrtype == y.Rrtype && x.Class == y.Class && dns.CanonicalName(x.Name) == dns.CanonicalName(y.Name)
}

func signatures(records []dns.RR, set []dns.RR) []*dns.RRSIG {
	var found []*dns.RRSIG
	for _, rr := range records {
		s, ok := rr.(*dns.RRSIG)
		if ok && s.TypeCovered == set[0].Header().Rrtype && dns.CanonicalName(s.Hdr.Name) == dns.CanonicalName(set[0].Header().Name) {
			found = append(found, s)
		}
	}
	return found
}

// set verifies one set and returns the zone that signed it.
func (v *Validator) set(ctx context.Context, set []dns.RR, sigs []*dns.RRSIG) (*zone, error) {
	owner := dns.CanonicalName(set[0].Header().Name)
	what := owner + " " + dns.Type(set[0].Header().Rrtype).String()
	if len(sigs) == 0 {
		return nil, v.unsigned(ctx, owner, what)
	}
	last := bogus("%s: no signature fits a key of its zone", what)
	for _, sig := range sigs {
		signer := dns.CanonicalName(sig.SignerName)
		if !dns.IsSubDomain(signer, owner) || set[0].Header().Rrtype == dns.TypeDS && signer == owner {
			last = bogus("%s: it is signed by %s, which has no say in it", what, signer)
			continue
		}
		z, err := v.zone(ctx, signer)
		if err != nil {
			if _, ok := errors.AsType[*bogusError](err); !ok {
				return nil, err
			}
			last = err
			continue
		}
		if err := v.verify(sig, z.keys, set); err != nil {
			last = bogus("%s: %s", what, err)
			continue
		}
		return z, nil
	}
	return nil, last
}

func (v *Validator) verify(sig *dns.RRSIG, keys []*dns.DNSKEY, set []dns.RR) error {
	if !sig.ValidityPeriod(time.Now()) {
		return fmt.Errorf("a signature is valid from %s to %s, not now", dns.TimeToString(sig.Inception), dns.TimeToString(sig.Expiration))
	}
	err := errors.New("no key of the zone has the tag of a signature")
	for _, k := range keys {
		if k.KeyTag() != sig.KeyTag || k.Algorithm != sig.Algorithm {
			continue
		}
		if v.verified++; v.verified > maxVerified {
			return errors.New("there are too many keys and signatures")
		}
		if e := sig.Verify(k, set); e != nil {
			err = errors.New("a signature is wrong")
			continue
		}
		return nil
	}
	return err
}

func (v *Validator) ask(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
	if v.questions++; v.questions > maxQuestions {
		return nil, errors.New("it takes too many questions")
	}
	return v.Ask(ctx, name, qtype)
}

// zone returns a zone with its keys, once the chain from the root to them holds.
func (v *Validator) zone(ctx context.Context, name string) (*zone, error) {
	if v.zones == nil {
		v.zones, v.failed = map[string]*zone{}, map[string]error{}
	}
	if z, err := v.zones[name], v.failed[name]; z != nil || err != nil {
		return z, err
	}
	z, err := v.trust(ctx, name)
	if err != nil {
		v.failed[name] = err
		return nil, err
	}
	v.zones[name] = z
	return z, nil
}

func (v *Validator) trust(ctx context.Context, name string) (*zone, error) {
	var up *zone
	trusted, err := v.root()
	if err == nil && name != "." {
		trusted, up, err = v.delegation(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	m, err := v.ask(ctx, name, dns.TypeDNSKEY)
	if err != nil {
		return nil, err
	}
	z := &zone{name: name, up: up}
	var set []dns.RR
	for _, rr := range m.Answer {
		if k, ok := rr.(*dns.DNSKEY); ok && dns.CanonicalName(k.Hdr.Name) == name && k.Protocol == 3 && k.Flags&dns.ZONE != 0 && k.Flags&dns.REVOKE == 0 {
			z.keys = append(z.keys, k)
		}
		if rr.Header().Rrtype == dns.TypeDNSKEY && dns.CanonicalName(rr.Header().Name) == name {
			set = append(set, rr)
		}
	}
	entry := entries(z.keys, trusted)
	if len(entry) == 0 {
		return nil, bogus("%s: none of its keys is the one that its parent names", name)
	}
	for _, sig := range signatures(m.Answer, set) {
		if err = v.verify(sig, entry, set); err == nil && dns.CanonicalName(sig.SignerName) == name {
			return z, nil
		}
	}
	return nil, bogus("%s: its keys are not signed by the one that its parent names", name)
}

// entries returns the keys that are named from above.
func entries(keys []*dns.DNSKEY, trusted []*dns.DS) []*dns.DNSKEY {
	var found []*dns.DNSKEY
	for _, k := range keys {
		for _, d := range trusted {
			if k.KeyTag() != d.KeyTag || k.Algorithm != d.Algorithm {
				continue
			}
			if own := k.ToDS(d.DigestType); own != nil && strings.EqualFold(own.Digest, d.Digest) {
				found = append(found, k)
				break
			}
		}
	}
	return found
}

func (v *Validator) root() ([]*dns.DS, error) {
	if v.Anchors != nil {
		return v.Anchors, nil
	}
	trusted := make([]*dns.DS, 0, len(anchors))
	for _, a := range anchors {
		rr, err := dns.NewRR(a)
		if err != nil {
			return nil, err
		}
		d, ok := rr.(*dns.DS)
		if !ok {
			return nil, errors.New("an anchor is no DS record")
		}
		trusted = append(trusted, d)
	}
	return trusted, nil
}

// delegation returns the records by which the parent of a zone names its keys,
// and the parent.
func (v *Validator) delegation(ctx context.Context, name string) ([]*dns.DS, *zone, error) {
	m, err := v.ask(ctx, name, dns.TypeDS)
	if err != nil {
		return nil, nil, err
	}
	var set []dns.RR
	var trusted []*dns.DS
	for _, rr := range m.Answer {
		if d, ok := rr.(*dns.DS); ok && dns.CanonicalName(d.Hdr.Name) == name {
			set, trusted = append(set, rr), append(trusted, d)
		}
	}
	if len(set) == 0 {
		return nil, nil, errUnsigned
	}
	up, err := v.set(ctx, set, signatures(m.Answer, set))
	return trusted, up, err
}

// unsigned says what it means that a set has no signature: nothing where its zone
// is not signed, and an error where it is.
func (v *Validator) unsigned(ctx context.Context, owner, what string) error {
	labels := dns.SplitDomainName(owner)
	signed := "."
	for i := range slices.Backward(labels) {
		name := dns.Fqdn(strings.Join(labels[i:], "."))
		m, err := v.ask(ctx, name, dns.TypeDS)
		if err != nil {
			return err
		}
		if has(m, name, dns.TypeDS) {
			signed = name
			continue
		}
		if m, err = v.ask(ctx, name, dns.TypeNS); err != nil {
			return err
		}
		if has(m, name, dns.TypeNS) { // a zone of its own that its parent names no key for
			return errUnsigned
		}
	}
	return bogus("%s: it is not signed, though the zone %s is", what, signed)
}

func has(m *dns.Msg, name string, qtype uint16) bool {
	for _, rr := range m.Answer {
		if rr.Header().Rrtype == qtype && dns.CanonicalName(rr.Header().Name) == name {
			return true
		}
	}
	return false
}
