// Holds Markdown to docs/explanation/style.md: `node lint.mjs FILE…` prints what it finds and fails if there is any. `--count`
// prints numbers per file and rule instead. Code, tables' commands and generated blocks are not read.
import { readFileSync } from "node:fs";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { cadence, longest, mostPassives, terms } from "./words.mjs";

const irregular =
  "begun|bound|brought|built|cut|done|drawn|driven|found|given|held|hidden|kept|known|laid|left|made|meant|met|paid|put|read|run|said|seen|sent|set|shown|spent|split|sent|taken|told|thrown|understood|woken|written";
const passive = new RegExp(`\\b(?:is|are|was|were|be|been|being) (?:not |never |also |then |only |always )?(?:(?!(?:un)?(?:biased|decided|limited|related)\\b)[a-z]{3,}ed|${irregular})\\b`, "g");

// The prose of a node: code becomes a word without meaning, so that positions stay.
function prose(node, source) {
  const start = node.range[0];
  let text = source.slice(start, node.range[1]);
  const blank = (inner) => {
    if (inner.type === "Code" || inner.type === "Html" || inner.type === "Image") {
      const [from, to] = [inner.range[0] - start, inner.range[1] - start];
      text = text.slice(0, from) + "x".repeat(to - from) + text.slice(to);
    }
    (inner.children ?? []).forEach(blank);
  };
  blank(node);
  return text.replace(/\]\([^)\s]*\)/g, (target) => "]" + " ".repeat(target.length - 1));
}

// Sentences with their offsets. A full stop ends one if a space and a capital or a quote follow.
function sentences(text) {
  const found = [];
  let from = 0;
  for (const end of text.matchAll(/[.!?:;]["')*_]*(?=\s|$)/g)) {
    const to = end.index + end[0].length;
    found.push({ from, text: text.slice(from, to) });
    from = to;
  }
  if (from < text.length) found.push({ from, text: text.slice(from) });
  return found;
}

const words = (text) => text.split(/[\s—]+/).filter((word) => /[A-Za-z0-9]/.test(word)).length;

// A rule that looks at the prose of each node of a kind.
const rule = (kinds, look) => (context) => {
  const { RuleError, report, getSource, locator } = context;
  const visit = (node) => {
    for (const [at, message] of look(prose(node, getSource()))) report(node, new RuleError(message, { padding: locator.at(at) }));
  };
  return Object.fromEntries(kinds.map((kind) => [context.Syntax[kind], visit]));
};

const all = ["Paragraph", "Header", "TableCell"];
const phrases = (list) =>
  rule(all, (text) => {
    const flat = text.replace(/\s/g, " ");
    return list.flatMap(([pattern, better]) =>
      [...flat.matchAll(new RegExp(pattern, pattern.flags + "g"))].map((hit) => [hit.index, `"${hit[0]}": ${better}`]),
    );
  });

const rules = {
  cadence: phrases(cadence),
  terms: phrases(terms),
  length: rule(["Paragraph"], (text) =>
    sentences(text)
      .map((sentence) => [sentence.from, words(sentence.text)])
      .filter(([, count]) => count > longest)
      .map(([at, count]) => [at + 1 < text.length ? at + 1 : at, `${count} words between stops: at most ${longest}`]),
  ),
  passive: rule(["Paragraph"], (text) => {
    const found = [];
    let run = 0;
    for (const sentence of sentences(text)) {
      const count = [...sentence.text.matchAll(passive)].length;
      run = count > 0 ? run + 1 : 0;
      if (count >= mostPassives || run === mostPassives + 1) found.push([sentence.from, `passives in a heap: say who does it`]);
    }
    return found;
  }),
};

const options = {
  ext: ".md",
  plugins: [{ pluginId: "markdown", plugin: markdown.default ?? markdown }],
  rules: Object.entries(rules).map(([ruleId, rule]) => ({ ruleId, rule })),
};

// Generated parts, between a comment `NAME` and a comment `/NAME`, are not ours to word here: their lines are emptied.
const written = (text) =>
  text.replace(/<!-- ([^/][^>]*?) -->[^]*?<!-- \/\1 -->/g, (part) => part.replace(/[^\n]/g, ""));

const counting = process.argv[2] === "--count";
const files = process.argv.slice(counting ? 3 : 2);
const kernel = new TextlintKernel();
const sums = {};
let total = 0;
for (const file of files) {
  const text = written(readFileSync(file, "utf8"));
  const { messages } = await kernel.lintText(text, { ...options, filePath: file });
  const counts = {};
  for (const { ruleId, line, column, message } of messages) {
    counts[ruleId] = (counts[ruleId] ?? 0) + 1;
    sums[ruleId] = (sums[ruleId] ?? 0) + 1;
    total += 1;
    if (!counting) console.log(`${file}:${line}:${column}: ${ruleId}: ${message}`);
  }
  if (counting) console.log(`${file}: ${messages.length} ${JSON.stringify(counts)}`);
}
if (counting) console.log(`${total} in ${files.length} files ${JSON.stringify(sums)}`);
process.exitCode = total > 0 && !counting ? 1 : 0;
