package ooxml

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/document/xmlscan"
)

const maxMath = 10_000 // elements of one formula

// A node is an element of a formula.
type node struct {
	name  string
	text  string
	value string // of its attribute val
	kids  []*node
}

func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// property returns a property of a formula's element, or a usual value.
func (n *node) property(name, usual string) string {
	if p := n.kid(n.name + "Pr").kid(name); p != nil {
		return p.value
	}
	return usual
}

// tree reads the element that has just started.
func tree(s *xmlscan.Scanner, left *int) *node {
	n := &node{name: string(s.Name), value: s.Any("val")}
	for depth := s.Depth(); s.Next(); {
		switch s.Kind {
		case xmlscan.End:
			if s.Depth() < depth {
				return n
			}
		case xmlscan.Text:
			n.text += string(s.Text)
		case xmlscan.Start:
			if *left--; *left < 0 || s.Depth() > 200 {
				s.Skip()
				continue
			}
			n.kids = append(n.kids, tree(s, left))
		}
	}
	return n
}

// formula reads a formula as TeX.
func formula(s *xmlscan.Scanner) string {
	left := maxMath
	return strings.TrimSpace(tex(tree(s, &left)))
}

// formulas reads formulas that stand by themselves.
func formulas(s *xmlscan.Scanner) string {
	left := maxMath
	var lines []string
	for _, k := range tree(s, &left).kids {
		if k.name != "oMath" {
			continue
		}
		if t := strings.TrimSpace(tex(k)); t != "" {
			lines = append(lines, "$$"+t+"$$")
		}
	}
	return strings.Join(lines, "\n")
}

func inner(n *node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(tex(k))
	}
	return b.String()
}

func group(n *node) string { return "{" + inner(n) + "}" }

// tex returns an element as TeX.
func tex(n *node) string {
	e := func() string { return group(n.kid("e")) }
	switch n.name {
	case "t":
		return symbols.Replace(n.text)
	case "f":
		if n.property("type", "bar") == "lin" {
			return group(n.kid("num")) + "/" + group(n.kid("den"))
		}
		return `\frac` + group(n.kid("num")) + group(n.kid("den"))
	case "sSup":
		return e() + "^" + group(n.kid("sup"))
	case "sSub":
		return e() + "_" + group(n.kid("sub"))
	case "sSubSup":
		return e() + "_" + group(n.kid("sub")) + "^" + group(n.kid("sup"))
	case "sPre":
		return "{}_" + group(n.kid("sub")) + "^" + group(n.kid("sup")) + e()
	case "rad":
		if deg := inner(n.kid("deg")); deg != "" {
			return `\sqrt[` + deg + "]" + e()
		}
		return `\sqrt` + e()
	case "nary":
		return nary(n) + e()
	case "d":
		return delimited(n)
	case "func":
		return functionName(inner(n.kid("fName"))) + e()
	case "limLow":
		return inner(n.kid("e")) + "_" + group(n.kid("lim"))
	case "limUpp":
		return inner(n.kid("e")) + "^" + group(n.kid("lim"))
	case "bar":
		if n.property("pos", "bot") == "top" {
			return `\overline` + e()
		}
		return `\underline` + e()
	case "acc":
		return accent(n.property("chr", "\u0302")) + e()
	case "groupChr":
		return `\underbrace` + e()
	case "m":
		return matrix(n)
	case "eqArr":
		return `\begin{array}{l}` + joinKids(n, "e", ` \\ `) + `\end{array}`
	}
	if strings.HasSuffix(n.name, "Pr") {
		return ""
	}
	return inner(n)
}

func joinKids(n *node, name, with string) string {
	var parts []string
	for _, k := range n.kids {
		if k.name == name {
			parts = append(parts, inner(k))
		}
	}
	return strings.Join(parts, with)
}

func matrix(n *node) string {
	var rows []string
	for _, k := range n.kids {
		if k.name == "mr" {
			rows = append(rows, joinKids(k, "e", " & "))
		}
	}
	return `\begin{matrix}` + strings.Join(rows, ` \\ `) + `\end{matrix}`
}

func nary(n *node) string {
	s := map[string]string{"∑": `\sum`, "∏": `\prod`, "∫": `\int`, "∬": `\iint`, "∭": `\iiint`, "∮": `\oint`, "⋃": `\bigcup`, "⋂": `\bigcap`}[n.property("chr", "∫")]
	if s == "" {
		s = n.property("chr", "∫")
	}
	if low := inner(n.kid("sub")); low != "" {
		s += "_{" + low + "}"
	}
	if high := inner(n.kid("sup")); high != "" {
		s += "^{" + high + "}"
	}
	return s
}

func delimited(n *node) string {
	left, right := n.property("begChr", "("), n.property("endChr", ")")
	side := func(s string) string {
		switch s {
		case "":
			return "."
		case "{", "}":
			return `\` + s
		}
		return s
	}
	return `\left` + side(left) + joinKids(n, "e", n.property("sepChr", "|")) + `\right` + side(right)
}

func functionName(name string) string {
	switch strings.TrimSpace(name) {
	case "sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "lim", "max", "min", "det", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sup", "inf", "gcd", "arg", "dim", "ker", "deg":
		return `\` + strings.TrimSpace(name)
	}
	return name
}

func accent(chr string) string {
	switch chr {
	case "\u0303", "~":
		return `\tilde`
	case "\u0304", "\u0305", "¯":
		return `\bar`
	case "\u0307":
		return `\dot`
	case "\u0308":
		return `\ddot`
	case "\u20d7", "→":
		return `\vec`
	}
	return `\hat`
}

// symbols are the letters that TeX has names for.
var symbols = strings.NewReplacer(
	"α", `\alpha `, "β", `\beta `, "γ", `\gamma `, "δ", `\delta `, "ε", `\epsilon `, "ζ", `\zeta `, "η", `\eta `, "θ", `\theta `, "κ", `\kappa `,
	"λ", `\lambda `, "μ", `\mu `, "ν", `\nu `, "ξ", `\xi `, "π", `\pi `, "ρ", `\rho `, "σ", `\sigma `, "τ", `\tau `, "φ", `\phi `, "χ", `\chi `, "ψ", `\psi `,
	"ω", `\omega `, "Γ", `\Gamma `, "Δ", `\Delta `, "Θ", `\Theta `, "Λ", `\Lambda `, "Π", `\Pi `, "Σ", `\Sigma `, "Φ", `\Phi `, "Ψ", `\Psi `, "Ω", `\Omega `,
	"∞", `\infty `, "≤", `\leq `, "≥", `\geq `, "≠", `\neq `, "≈", `\approx `, "×", `\times `, "·", `\cdot `, "±", `\pm `, "→", `\to `, "∂", `\partial `,
	"∈", `\in `, "∉", `\notin `, "⊂", `\subset `, "∪", `\cup `, "∩", `\cap `, "∀", `\forall `, "∃", `\exists `, "…", `\ldots `, "⋯", `\cdots `, "∇", `\nabla `,
	"&", `\&`, "%", `\%`, "#", `\#`,
)
