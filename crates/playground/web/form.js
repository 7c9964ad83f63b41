// What the reader asks: a scenario, a scheduler with its parameters, a seed. The address of the page has it too.

(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);

  /** An element with a text and others in it. */
  function element(tag, properties = {}, ...inner) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inner);
    return made;
  }

  /** A text in which what stands between backquotes is code. */
  function withCode(text) {
    return text.split("`").map((part, i) => (i % 2 === 1 ? element("code", { textContent: part }) : part));
  }

  class Form {
    /** `ask` makes a run of what is asked. */
    constructor(ask) {
      this.ask = ask;
      this.scenarios = new Map(JSON.parse(byId("scenarios").textContent));
      byId("scenario").append(...[...this.scenarios.keys()].map((name) => new Option(name)));
      byId("scenario").addEventListener("change", () => (this.pickScenario(byId("scenario").value), this.asked()));
      byId("restore").addEventListener("click", () => (this.pickScenario(byId("scenario").value), this.asked()));
      byId("text").addEventListener("input", () => this.showChanges());
      byId("text").addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.asked();
      });
      byId("policy").addEventListener("change", () => (this.pickPolicy(byId("policy").value), this.asked()));
      byId("seed").addEventListener("change", () => this.asked());
      byId("question").addEventListener("submit", (event) => (event.preventDefault(), this.asked()));
      globalThis.addEventListener("hashchange", () => this.readAddress() && this.ask(this.question()));
    }

    /** Fills in the policies, and what the address asks for. */
    begin() {
      const policies = JSON.parse(byId("policies").textContent);
      this.policies = new Map(policies.map((policy) => [policy.name, policy]));
      byId("policy").append(...policies.map(({ name }) => new Option(name)));
      this.pickScenario("heavy-load");
      this.pickPolicy("rr");
      this.readAddress();
    }

    pickScenario(name) {
      byId("scenario").value = name;
      byId("text").value = this.scenarios.get(name);
      this.showChanges();
    }

    showChanges() {
      byId("restore").hidden = !this.isChanged;
    }

    get isChanged() {
      return byId("text").value !== this.scenarios.get(byId("scenario").value);
    }

    pickPolicy(name) {
      const policy = this.policies.get(name);
      byId("policy").value = name;
      byId("policy-about").textContent = policy.about;
      byId("parameters").replaceChildren(...policy.parameters.map((parameter) => this.field(parameter)));
      if (policy.parameters.length === 0) byId("parameters").append(element("p", { className: "hint", textContent: "It has none." }));
    }

    /** A parameter's control: empty where its default holds. */
    field({ name, values, about, choices, default: usual }) {
      const id = `parameter-${name}`;
      const isWord = choices.length > 0 && !values.includes("(");
      const control = isWord
        ? element("select", {}, new Option(`${usual} (default)`, ""), ...choices.filter((word) => word !== usual).map((word) => new Option(word)))
        : element("input", { type: "text", placeholder: usual, spellcheck: false, autocomplete: "off" });
      Object.assign(control, { id, name });
      control.setAttribute("aria-describedby", `${id}-about`);
      control.addEventListener("change", () => this.asked());
      const hint = element("p", { className: "hint", id: `${id}-about` }, ...withCode(`${about} ${isWord ? "" : `(${values})`}`));
      return element("div", { className: "field parameter" }, element("label", { htmlFor: id, textContent: name }), control, hint);
    }

    /** The policy with its parameters, as the command line takes it. */
    policy() {
      const set = [...byId("parameters").querySelectorAll("input, select")].filter(({ value }) => value.trim() !== "");
      const settings = set.map(({ name, value }) => `${name}=${value.trim()}`);
      return byId("policy").value + (settings.length > 0 ? `:${settings.join(",")}` : "");
    }

    question() {
      const [name, seed] = [byId("scenario").value, byId("seed").value];
      return {
        scenario: byId("text").value,
        origin: this.isChanged ? "scenario.toml" : `${name}.toml`,
        policy: this.policy(),
        seed: seed === "" ? null : Number(seed),
      };
    }

    /** What is asked, as the command line takes it. */
    label() {
      const { policy, seed } = this.question();
      const scenario = this.isChanged ? "scenario.toml" : byId("scenario").value;
      const quoted = /^[\w:=,.-]+$/.test(policy) ? policy : `'${policy}'`;
      return `${scenario} --policy ${quoted}${seed === null ? "" : ` --seed ${seed}`}`;
    }

    asked() {
      this.writeAddress();
      this.ask(this.question());
    }

    writeAddress() {
      const asked = new URLSearchParams({ scenario: byId("scenario").value, policy: this.policy() });
      if (byId("seed").value !== "") asked.set("seed", byId("seed").value);
      if (this.isChanged) asked.set("text", byId("text").value);
      history.replaceState(null, "", `#${asked}`);
    }

    /** Takes over what the address asks for; says whether it asks for anything. */
    readAddress() {
      const asked = new URLSearchParams(location.hash.slice(1));
      const [scenario, policy] = [asked.get("scenario"), asked.get("policy") ?? ""];
      if (this.scenarios.has(scenario)) this.pickScenario(scenario);
      if (asked.has("text")) byId("text").value = asked.get("text");
      this.showChanges();
      const [name, ...settings] = policy.split(/:|,(?![^(]*\))/);
      if (this.policies.has(name)) this.pickPolicy(name);
      for (const setting of settings) {
        const [key, ...value] = setting.split("=");
        const control = byId(`parameter-${key}`);
        if (control) control.value = value.join("=");
      }
      byId("seed").value = asked.get("seed") ?? "";
      return asked.size > 0;
    }
  }

  globalThis.schedlabPlayground ??= {};
  Object.assign(schedlabPlayground, { Form, element });
})();
