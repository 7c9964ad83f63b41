// The words that our documents avoid. The reasons and examples are in docs/explanation/style.md.

// A cadence that reads as translated. Each entry: what to look for, and what to write.
export const cadence = [
  [/\bso (?:many|much)\b/, "give the number, or 'that many'"],
  [/\bwho(?:m)?ever\b/, "name the person or the program"],
  [/\banew\b/, "again"],
  [/\b(?:is|are|was|were|be|been) told\b(?! apart)/, "say who shows, prints or reports it"],
  [/\btold (?:as such|again|beside)\b/, "reported"],
  [/\bsays? of\b/, "says about, reports for"],
  [/\bstands? (?:at|for|beside|in|there|above|under|on|alone|near)\b/, "is, is next to, is documented in"],
  [/\bas (?:it|they) stands?\b/, "unchanged"],
  [/\bWho (?!(?:is|are|was|has|can|gets?|waits?|runs?|ran|starves|completes|treats)\b[^.]*\?)\w+s\b/, "name the subject: 'a task that …', 'you'"],
  [/\b(?:there|here)(?:of|in|by|upon|with)\b/, "use the plain preposition"],
  [/\bwhere(?:of|in|by|upon|with)\b/, "use the plain preposition"],
  [/\b(?:lest|albeit|hitherto|amongst|whilst|alike)\b/, "use the everyday word"],
  [/\bfor want of\b/, "because there is no …"],
  [/\bon end\b/, "in a row, without a break"],
  [/\bby turns\b/, "in turn"],
  [/\bin vain\b/, "without success"],
  [/\bto be had\b/, "available"],
  [/\b(?:hold|holds|held|holding) (?:it |them |this |these |all of it |all |each |one |its values |the \w+ )?against\b/, "compare with, check against"],
  [/\bput right\b/, "correct"],
  [/\b(?:bears|borne)\b/, "tolerates, supports"],
  [/\bwhat is more\b/i, "also"],
  [/\b(?:come|comes|came) to (?:its|their|an) end\b/, "end"],
  [/\b(?:its|the|their|a) begin\b/, "start"],
  [/\bthe least (?!(?:that|of)\b)/, "the smallest"],
  [/\bgreatest\b/, "largest, maximum"],
  [/\bnobody\b[^.]{0,40}\bsooner\b/i, "X has the shortest …"],
  [/\btenfold|\btwofold|\bthreefold/, "ten times"],
  [/\b(?:the|these|those) very\b/, "the same"],
  [/\b(?:nor|neither) (?:is|are|does|do|has) (?:it|there|they)\b/, "two sentences"],
  [/\bto blame for\b/, "causes"],
  [/\bstrangers?(?:'|’)?\b/, "untrusted, or name them"],
  [/\bbeside\b/i, "next to, with, compared with"],
  [/(?<!cannot )\b(?:tell|tells)\b(?! apart)/, "shows, reports, explains, says"],
  [/\b(?:go|goes|went|going) on\b/, "continue"],
  [/\bbut for (?:the|its|a|one|two)\b/, "except for"],
  [/\b(?<!of )(?:files?|language|scenarios?|objects?|room|sector|one|cost|word|page|tests?|policies|program) of (?:ours|its own|their own|theirs)\b/, "our, its own"],
  [/\bwhat (?:nobody|everybody)\b/i, "name it"],
  [/\b(?:in|at) sight\b/, "visible"],
  [/\bthrows? (?:it|them|a policy) out\b|\bthrown out\b/, "ejects, ejected"],
  [/\bsomebody else's\b/, "another task's, another person's"],
];

// One term for one thing: a synonym, and the term that the glossary defines.
export const terms = [
  [/\brunqueues?\b/, "run queue"],
  [/\bwakeups?\b(?! (?:latency|to|from))/, "wake-up"],
  [/\bown switches\b/, "voluntary switches"],
  [/\bforced switches\b/, "involuntary switches"],
  [/\btime ?slices?\b(?!:)/, "slice"],
  [/\bcgroups?\b(?!-v2| v[12]|\.)/, "control group"],
  [/\be\.g\.|\bi\.e\./, "'for example', 'that is'"],
  [/\bbehavior\b/, "behaviour"],
  [/\bthe user\b(?! (?:half|half's|and|interface|system|part|manager|id|space|namespace))/, "you"],
];

// How a sentence and a paragraph may grow.
export const longest = 34;
export const mostPassives = 3;
