package doubles

// corpus returns the pages of the web: a few made-up sites that know a little of
// lighthouses, ferries, redis and the price of tides.
func corpus() []Page {
	return []Page{
		{
			URL: "http://harbour.example/lighthouse", Title: "The lighthouse of Port Aldern", Date: "2024-05-02",
			Text: []string{
				"The lighthouse of Port Aldern stands at the mouth of the river Aldern and was lit for the first time in November 1871. Its tower of grey granite is 43 metres high, and 212 steps lead up to the lantern room.",
				"Until 1958 a keeper lived in the cottage beside the tower with his family. He wound the clockwork every four hours, trimmed the wick, wrote down the weather and rowed to the village for bread, oil and letters. The last keeper was Edda Morrow, who later told her memories to the local museum.",
				"Since then the lamp has been electric. A rotating lens of the first order throws two white flashes every fifteen seconds, which sailors can see from 24 nautical miles in clear air. In fog a horn sounds three times a minute; complaints of the neighbours led to a quieter model in 2009.",
				"Visitors may climb the tower on Saturdays between May and September. Tickets cost 6 crowns, children pay half, and dogs have to wait outside. Because of repairs to the gallery the upper platform stays closed during strong wind. A small exhibition in the oil store explains how the glass was cut, shipped and mounted.",
			},
		},
		{
			URL: "http://harbour.example/ferries", Title: "Ferry timetable of Port Aldern", Date: "2025-03-18",
			Text: []string{
				"Ferries leave Port Aldern for the island of Skarn at 06:40, 09:15, 12:30, 16:05 and 19:50 on working days. On Sundays only the boats at 09:15 and 16:05 run. The crossing takes 55 minutes when the sea is calm.",
				"Cars must be at the ramp half an hour before departure, bicycles ten minutes. Cancellations because of weather are announced on channel 12 and at the ticket office, never by telephone. Passengers with a return ticket may use any later boat of the same week.",
				"The two vessels, Kittiwake and Old Fulmar, were built in 1994 and 2016. The newer one runs on batteries and charges from a cable while it unloads. Diesel is kept aboard for storms alone. Together they carried 184,000 passengers and 31,000 cars last year, which was slightly fewer than before the bridge at Lund opened.",
				"Fares: adults 18 crowns, pupils 9, cars up to five metres 64. Residents of Skarn show their card and pay one third. Groups of ten or more ask the purser for a discount. Freight is booked through the harbour office until noon of the previous day.",
			},
		},
		{
			URL: "http://docs.example/redis/memory", Title: "Redis memory and eviction", Date: "2025-11-09",
			Text: []string{
				"When redis reaches the limit that maxmemory sets, the policy maxmemory-policy decides what happens. With noeviction writes fail with an OOM error; allkeys-lru removes the keys that were not used for the longest time, volatile-ttl those that would expire soonest.",
				"To find out what fills the memory, run INFO memory and compare used_memory with used_memory_rss. A ratio well above 1.5 means fragmentation, which activedefrag can reduce while the server runs. MEMORY USAGE tells the bytes of one key; the option --bigkeys of redis-cli samples all of them without blocking.",
				"A common cause of sudden growth is a client that reads too slowly: its output buffer is kept on the server. CLIENT LIST shows the field omem for each connection. Limits for such buffers are set by client-output-buffer-limit, separately for normal clients, replicas and subscribers.",
				"After a restart the data set is loaded from the append only file or a snapshot, and clients get the error LOADING meanwhile. Replicas that were away for long need a full synchronisation, which forks the process: plan for copy-on-write pages of up to the size of the data set while writes go on.",
			},
		},
		{
			URL: "http://docs.example/redis/token-auth", Title: "Redis with a token and a password", Date: "2025-07-21",
			Text: []string{
				"Since version 6 redis knows users. The command AUTH takes a user name and a password, or a password alone for the user default. ACL SETUSER creates one, grants it commands and limits it to keys by patterns.",
				"Short lived token schemes are built on top: a sidecar fetches a token from the identity provider, calls AUTH before the old one expires, and closes the connection if that fails. Libraries call this a credentials provider. Connections stay open during the exchange, so no request is lost.",
				"Never write such a token into a configuration file that is backed up. Mount it, restrict the file to the user of the service, and rotate after each incident. The log shows failed attempts with the address of the client, yet never the secret itself.",
			},
		},
		{
			URL: "http://blog.example/2024/tides", Title: "Why the price of tides fell", Date: "2024-09-30",
			Text: []string{
				"Three years ago a megawatt hour from the tidal fence at Skarn cost 310 crowns; today it is 122. Most of the difference comes from one dull improvement: the blades are now replaced by a boat with a crane in a single slack water, where divers used to need nine days.",
				"The second reason is finance. Banks had priced the unknown into their loans, and after 36 months without a broken gearbox they stopped. Interest alone made a quarter of the bill. Engineers like to talk about turbines, accountants about risk, and for once the accountants have the better story.",
				"What remains is the grid. Tides move an hour every day, so the peak of production wanders through the peak of demand and out again. A battery at the harbour, shared with the electric ferry, smooths part of that. The rest is sold to a fish factory that freezes whenever power is cheap.",
			},
		},
		{
			URL: "http://short.example/note", Title: "A short note", Date: "2023-01-15",
			Text: []string{"The market hall of Port Aldern opens at seven in the morning and closes when the fish is sold, on most days before noon."},
		},
		{
			URL: "http://news.example/caf%C3%A9-opening?ref=front%20page", Title: "Café opens at the lighthouse", Date: "2025-06-11",
			Text: []string{
				"A café has opened in the former cottage of the lighthouse keeper. It serves soup, rye bread and a cake that is baked by the recipe of Edda Morrow, the last keeper of Port Aldern.",
				"The council had let the house for twenty years to a sculptor. After he moved to Lund, four neighbours founded a cooperative, mended the roof and bought an old espresso machine from a ferry. They open on Saturdays and on every day of the summer holidays.",
			},
		},
		{
			URL: "https://huggingface.co/datasets/example/lighthouse-answers", Title: "Lighthouse answers data set", Date: "2025-01-01",
			Text: []string{"Questions and answers about the lighthouse of Port Aldern, for the evaluation of models. The tower is 43 metres high."},
		},
		{URL: "http://harbour.example/old-lighthouse", Forward: "http://harbour.example/lighthouse"},
		{URL: "http://harbour.example/answers", Forward: "https://huggingface.co/datasets/example/lighthouse-answers"},
		{
			URL: "http://guarded.example/", Title: "Just a moment...", Status: 403,
			Text: []string{"Checking your browser before you enter. Enable JavaScript and cookies to continue. Cloudflare Ray ID: 0000000000000000"},
		},
		{
			URL: "http://harbour.example/private/plans", Title: "Plans of the harbour", Date: "2025-02-02",
			Text: []string{"What stands here is for people who come with a browser, as robots.txt says."},
		},
	}
}
