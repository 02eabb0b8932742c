package doubles

import (
	"fmt"
	"strings"
	"time"
)

// wikiEditions are the encyclopedias, by language: made-up articles about the places
// of the small web.
var wikiEditions = map[string][]wikiPage{
	"en": {
		{
			id: 11, title: "Port Aldern", revisions: everyDay(time.Date(2019, 3, 1, 8, 30, 0, 0, time.UTC), 40),
			text: "Port Aldern is a harbour town at the mouth of the river Aldern. It was founded in 1203 by Dr. Ida V. Holm, whose ship ran aground there. " +
				"The town has 9,412 inhabitants (2.3 per boat). Its lighthouse is 43 m high! Ferries go to Skarn.\nThe market opens at 7 a.m. and closes when the fish is sold." +
				"\n\n\n== History ==\nFounded in 1203, the town burned down twice.\n\n\n=== Great fire ===\nThe fire of 1588 spared the church.\n\n\n=== Second fire ===\nThat of 1701 did not." +
				"\n\n\n== Economy ==\nFish, ferries and tides.\n\n\n== See also ==\n",
		},
		{id: 12, title: "Aldern Town", redirect: "Port Aldern"},
		{
			id: 13, title: "Lighthouse of Port Aldern", revisions: everyDay(time.Date(2010, 7, 4, 12, 0, 0, 0, time.UTC), 3),
			text: "The lighthouse of Port Aldern was lit in 1871.\n\n\n== Keepers ==\n" + longText(),
		},
		{
			id: 14, title: "Aldern", text: "Aldern may refer to:",
			options: append([][2]string{
				{"Port Aldern", "a harbour town"},
				{"Aldern (river)", "a river that is <short>"},
				{"Mission: Aldern", "a film of 1998"},
			}, manyOptions(12)...),
		},
		{id: 15, title: "C++ & \"Aldern\"?", text: "A title with marks.", revisions: everyDay(time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC), 1)},
		{id: 16, title: "Hidden words", text: "Visible\u202e esrever\u202c and \u200bhidden\U000E0041\U000E0042 \x07bell."},
	},
	"de": {
		{id: 21, title: "Port Aldern", text: "Port Aldern ist eine Hafenstadt. Sie liegt z. B. an der Mündung der Aldern.\n\n\n== Geschichte ==\nGegründet wurde sie 1203.", revisions: everyDay(time.Date(2020, 2, 1, 6, 0, 0, 0, time.UTC), 2)},
	},
	"zh": {
		{id: 31, title: "奥尔登港", text: "奥尔登港是一座港口城市。它位于河口！人口九千。\n\n\n== 历史 ==\n建于1203年。"},
	},
}

// everyDay returns n moments, a day between each.
func everyDay(from time.Time, n int) []time.Time {
	list := make([]time.Time, n)
	for i := range list {
		list[i] = from.AddDate(0, 0, i)
	}
	return list
}

func manyOptions(n int) (list [][2]string) {
	for i := range n {
		list = append(list, [2]string{fmt.Sprintf("Aldern %d", i+1), "a village"})
	}
	return list
}

func longText() string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "Keeper number %d wrote down the weather every four hours.\n", i+1)
	}
	return b.String()
}
