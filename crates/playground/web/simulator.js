// The simulator as the page sees it: one question at a time, which can be stopped.

(() => {
  "use strict";

  /** The module's bytes, out of the page. */
  async function unpack() {
    const packed = schedlabTimeline.fromBase64(document.getElementById("module").textContent.trim());
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** Makes runs in a worker. `progress` hears the simulated time in ns. */
  class Simulator {
    constructor(progress) {
      this.progress = progress;
      this.number = 0;
      this.pending = null;
      const source = document.getElementById("worker").textContent;
      this.address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    }

    /** A new worker with the module. */
    async begin() {
      this.worker?.terminate();
      const worker = (this.worker = new Worker(this.address));
      worker.onmessage = ({ data }) => this.hear(data);
      worker.onerror = (event) => this.hear({ number: this.number, error: event.message });
      // Compiled once, for all workers.
      this.module ??= unpack().then((bytes) => WebAssembly.compile(bytes));
      worker.postMessage({ module: await this.module });
    }

    hear({ number, now, error, answer }) {
      if (number !== this.number || !this.pending) return;
      if (now !== undefined) return this.progress(now);
      const { resolve, reject: refuse } = this.pending;
      this.pending = null;
      return error ? refuse(new Error(error)) : resolve(answer);
    }

    get isBusy() {
      return this.pending !== null;
    }

    /** Stops the run that is on the way, if there is one. */
    stop() {
      if (!this.pending) return;
      this.pending.reject(null);
      this.pending = null;
      this.ready = this.begin();
    }

    /** Makes a run. Rejects with an error that says why there is none, or with null if it was stopped. */
    async ask(question) {
      this.stop();
      const number = ++this.number;
      const answer = new Promise((resolve, reject) => (this.pending = { resolve, reject }));
      // stop() may reject it before the caller waits for it; that is no unhandled rejection.
      answer.catch(() => {});
      try {
        await (this.ready ??= this.begin());
      } catch (error) {
        [this.ready, this.module, this.pending] = [null, null, null];
        throw new Error(`the simulator does not start in this browser: ${error.message}`);
      }
      if (number === this.number && this.pending) this.worker.postMessage({ number, question });
      return answer;
    }
  }

  globalThis.schedlabPlayground ??= {};
  schedlabPlayground.Simulator = Simulator;
})();
