// Runs the simulator beside the page, so that the page stays quick. The first message has the module; each one after it is a
// question. A run has an instance of its own, with which its memory goes.

let module = null;

const PARTS = { error: 0, result: 1, page: 2, tables: 3, whole: 4, header: 5, timeline: 6 };

/** An instance, and what its memory has of an answer. */
async function start(told) {
  const { exports } = await WebAssembly.instantiate(module, { page: { progress: told } });
  const bytes = (part) => {
    const [at, length] = [exports.output(PARTS[part]), exports.output_len(PARTS[part])];
    return new Uint8Array(exports.memory.buffer, at >>> 0, length).slice();
  };
  const text = (part) => new TextDecoder().decode(bytes(part));
  return { exports, bytes, text };
}

async function answer(number, question) {
  const begun = performance.now();
  const { exports, bytes, text } = await start((now) => postMessage({ number, now }));
  const asked = new TextEncoder().encode(JSON.stringify(question));
  const at = exports.input(asked.length) >>> 0;
  new Uint8Array(exports.memory.buffer, at, asked.length).set(asked);
  let trap = "";
  try {
    exports.ask();
  } catch (error) {
    trap = String(error);
  }
  const error = text("error") || trap;
  if (error) return postMessage({ number, error });
  const timeline = bytes("timeline");
  const took = performance.now() - begun;
  const texts = Object.fromEntries(["result", "page", "tables", "whole", "header"].map((part) => [part, text(part)]));
  postMessage({ number, answer: { ...texts, timeline, took } }, [timeline.buffer]);
}

onmessage = ({ data }) => {
  if (data.module) module = data.module;
  else answer(data.number, data.question).catch((error) => postMessage({ number: data.number, error: String(error) }));
};
