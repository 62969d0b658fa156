// The list of findings: filter, search, pages, keys. Everything that is shown is made as text nodes;
// no text of a report ever becomes markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const list = document.getElementById("list");
  if (!data.findings && !data.columns) return;
  const PAGE = 50;
  const PRINTED = 500;
  const WORDS = ["breaks", "falls-back", "diverges", "recompiles", "syncs", "slow", "locks-in", "benign", "portable"];
  const LEVEL = { breaks: "error", "falls-back": "error", diverges: "error", recompiles: "warning", syncs: "warning", slow: "warning", "locks-in": "note", benign: "none", portable: "none" };
  const SURE = ["certain", "likely", "possible"];
  const c = data.columns;
  const count = data.findings;
  const number = (n) => n.toLocaleString("en-US");
  const byId = (id) => document.getElementById(id);

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  }
  const code = (text) => make("code", { dir: "ltr", "data-quoted": true }, text);
  const quoted = (text) => make("span", { "data-quoted": true }, text);

  // ---- what is asked ------------------------------------------------------------------------------

  // The strongest verdict of each judgement over all targets, and on each.
  const strongest = data.judged.map((by) => {
    const views = [...data.targets, ""].map((target) => {
      let best = null;
      for (const [name, row] of Object.entries(by)) {
        if (target && name !== target) continue;
        if (!best || WORDS.indexOf(row.verdict) < WORDS.indexOf(best.verdict) ||
            (row.verdict === best.verdict && SURE.indexOf(row.confidence) < SURE.indexOf(best.confidence))) best = row;
      }
      return best;
    });
    return views;
  });
  const ALL = data.targets.length;
  const state = { q: "", target: ALL, level: "", verdict: "", confidence: "", area: "", role: "counted", effort: "", change: "", hot: "", wave: "", group: "", file: "" };
  const judged = (i) => strongest[c.judged[i]][state.target];
  const change = (i) => (c.change[i] < 0 ? "none" : data.changes[c.change[i]].safety);

  const FIELDS = {
    level: (i) => { const j = judged(i); return j ? LEVEL[j.verdict] : "none"; },
    verdict: (i) => { const j = judged(i); return j ? j.verdict : ""; },
    confidence: (i) => { const j = judged(i); return j ? j.confidence : ""; },
    area: (i) => data.rules[c.rule[i]][2],
    effort: (i) => data.efforts[c.effort[i]],
    change,
    hot: (i) => (c.hot[i] ? "yes" : "no"),
    wave: (i) => (c.wave[i] < 0 ? "" : data.waves[c.wave[i]]),
    group: (i) => String(c.group[i]),
    file: (i) => data.paths[c.path[i]],
  };
  let haystack = null;
  function hay(i) {
    if (!haystack) {
      const low = (rows) => rows.map((text) => text.toLowerCase());
      const texts = low(data.texts), paths = low(data.paths), rules = low(data.rules.map((r) => r.join(" ")));
      haystack = new Array(count);
      for (let n = 0; n < count; n += 1) {
        haystack[n] = [paths[c.path[n]] + ":" + c.line[n], rules[c.rule[n]], texts[c.message[n]], texts[c.snippet[n]], texts[c.scope[n]], c.print[n]].join("\n");
      }
    }
    return haystack[i];
  }
  function inPart(i) {
    if (state.role === "counted") return data.counted.includes(c.role[i]);
    return state.role === "" || data.roles[c.role[i]] === state.role;
  }
  let shown = [];
  let page = 0;
  function matching() {
    const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = Object.keys(FIELDS).filter((key) => state[key] !== "");
    const found = [];
    next: for (let i = 0; i < count; i += 1) {
      if (!inPart(i)) continue;
      if (state.target !== ALL && !judged(i)) continue;
      for (const key of asked) if (FIELDS[key](i) !== state[key]) continue next;
      for (const term of terms) if (!hay(i).includes(term)) continue next;
      found.push(i);
    }
    return found;
  }

  // ---- filters ------------------------------------------------------------------------------------

  const selects = {};
  function fill(box, options, first) {
    box.replaceChildren(make("option", { value: "" }, first || "all"));
    for (const [value, text] of options) box.append(make("option", { value }, text));
  }
  function select(key, label, options, first) {
    const box = make("select", { id: "filter-" + key, name: key });
    fill(box, options, first);
    box.addEventListener("change", () => {
      state[key] = key === "target" ? (box.value === "" ? ALL : Number(box.value)) : box.value;
      if (key === "target" || key === "role") recount();
      update();
    });
    selects[key] = box;
    byId("selects").append(make("label", { for: "filter-" + key }, label, box));
    return box;
  }
  // Numbers are of the findings of the chosen part and target; the words that occur there.
  function counted(field, order) {
    const found = new Map();
    for (let i = 0; i < count; i += 1) {
      if (!inPart(i) || (state.target !== ALL && !judged(i))) continue;
      const value = field(i);
      if (value !== "") found.set(value, (found.get(value) || 0) + 1);
    }
    const keys = order ? order.filter((key) => found.has(key)) : [...found.keys()].sort();
    return keys.map((key) => [key, key + " (" + number(found.get(key)) + ")"]);
  }
  const COUNTED = [
    ["level", "Level", ["error", "warning", "note", "none"]], ["verdict", "Verdict", WORDS],
    ["confidence", "Sure", SURE], ["area", "Area", null], ["wave", "Wave", data.waves],
    ["effort", "Effort", data.efforts], ["change", "Proposed change", ["safe", "review", "none"]],
    ["hot", "In every step", ["yes", "no"]],
  ];
  function recount() {
    for (const [key, , order] of COUNTED) {
      fill(selects[key], counted(FIELDS[key], order));
      selects[key].value = state[key];
      if (selects[key].selectedIndex < 0) { state[key] = ""; selects[key].value = ""; }
    }
  }
  if (data.targets.length > 1) select("target", "Target", data.targets.map((t, i) => [String(i), t]), "worst of all");
  for (const [key, label, order] of COUNTED) select(key, label, counted(FIELDS[key], order));
  select("group", "Cause", data.groups.map((g, i) => [String(i), g[1] + " · " + g[0]]).slice(0, 2000));
  select("file", "File", data.paths.slice().sort().slice(0, 5000).map((p) => [p, p]));
  const parts = data.roles.map((name, n) => [name, c.role.reduce((sum, r) => sum + (r === n), 0)]).filter((part) => part[1]);
  const role = select("role", "Part", [["counted", "what counts"], ...parts.map(([name, n]) => [name, name + " (" + number(n) + ")"])]);
  role.value = "counted";

  const q = byId("q");
  let waiting = 0;
  q.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.q = q.value; update(); }, 120);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => {
    clearTimeout(waiting);
    for (const key of Object.keys(FIELDS)) state[key] = "";
    state.q = ""; state.role = "counted"; state.target = ALL;
    setTimeout(() => { role.value = "counted"; recount(); update(); });
  });
  function only(key, value) {
    byId("filters").reset();
    setTimeout(() => {
      state[key] = value;
      selects[key].value = value;
      update();
      byId("findings").scrollIntoView();
      byId("status").focus();
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.group !== undefined) only("group", button.dataset.group);
    if (button.dataset.wave !== undefined) only("wave", button.dataset.wave);
    if (button.dataset.area !== undefined) only("area", button.dataset.area);
    if (button.dataset.file !== undefined) only("file", button.dataset.file);
  });

  // ---- the list -----------------------------------------------------------------------------------

  function update() {
    shown = matching();
    page = 0;
    draw();
  }
  function draw(limit) {
    const size = limit || PAGE;
    const first = page * PAGE;
    const rows = shown.slice(first, first + size);
    list.replaceChildren(...rows.map(item));
    list.setAttribute("start", String(first + 1));
    const total = number(shown.length) + " of " + number(count) + (count === 1 ? " finding" : " findings");
    byId("status").textContent = shown.length
      ? total + (shown.length > size ? ", " + number(first + 1) + " to " + number(first + rows.length) + " shown" : "")
      : "No finding matches: " + total + ".";
    const pages = Math.ceil(shown.length / PAGE);
    const back = make("button", { type: "button", id: "previous" }, "Previous page");
    const forth = make("button", { type: "button", id: "next" }, "Next page");
    back.disabled = page === 0;
    forth.disabled = page >= pages - 1;
    back.addEventListener("click", () => turn(-1));
    forth.addEventListener("click", () => turn(1));
    byId("pager").replaceChildren(...(pages > 1 && !limit ? [back, make("span", {}, "page " + number(page + 1) + " of " + number(pages)), forth] : []));
  }
  function turn(by) {
    const pages = Math.ceil(shown.length / PAGE);
    const to = Math.min(Math.max(page + by, 0), pages - 1);
    if (to === page) return false;
    page = to;
    draw();
    const row = list.querySelector(".row");
    if (row) row.focus();
    return true;
  }
  function item(i) {
    const j = judged(i) || { verdict: "portable", confidence: "" };
    const row = make("button", { type: "button", class: "row", "aria-expanded": "false" },
      make("span", { class: "verdict v-" + j.verdict }, j.verdict),
      make("span", { class: "says", "data-quoted": true }, data.texts[c.message[i]]),
      make("span", { class: "where", "data-quoted": true }, data.paths[c.path[i]] + ":" + c.line[i]));
    const place = make("li", { id: "f-" + i }, row);
    const snippet = data.texts[c.snippet[i]];
    if (snippet) place.append(make("code", { class: "snippet", dir: "ltr", "data-quoted": true }, snippet));
    row.addEventListener("click", () => toggle(place, i));
    return place;
  }
  function toggle(place, i) {
    const row = place.querySelector(".row");
    const old = place.querySelector(".detail");
    if (old) { old.remove(); row.setAttribute("aria-expanded", "false"); return; }
    const id = "d-" + i;
    row.setAttribute("aria-expanded", "true");
    row.setAttribute("aria-controls", id);
    const box = detail(i);
    box.id = id;
    place.append(box);
  }

  // ---- one finding --------------------------------------------------------------------------------

  function detail(i) {
    const box = make("div", { class: "detail", role: "region", "aria-label": "Details" });
    const rule = data.rules[c.rule[i]];
    box.append(make("p", {}, make("strong", { "data-quoted": true }, rule[1]), " ", code(rule[0])));
    const facts = [];
    const scope = data.texts[c.scope[i]], guard = data.texts[c.guard[i]];
    if (scope) facts.push(make("span", {}, "in ", code(scope)));
    if (c.hot[i]) facts.push("runs in every step");
    if (guard) facts.push(make("span", {}, "only where ", code(guard)));
    if (!data.counted.includes(c.role[i])) facts.push("in " + data.roles[c.role[i]] + " code, set apart");
    facts.push("effort: " + data.efforts[c.effort[i]]);
    const line = make("p", { class: "fine" });
    facts.forEach((fact, n) => line.append(n ? "; " : "", fact));
    box.append(line);
    const frame = lines(c.path[i], c.line[i], 3);
    if (frame) box.append(frame);
    const why = data.texts[c.why[i]];
    if (why && why !== rule[1]) box.append(...prose(why));
    if (c.related[i] >= 0) {
      box.append(make("h3", {}, "How the value came here"));
      const steps = make("ol");
      for (const [path, at, says] of data.related[c.related[i]]) {
        const step = make("li", {}, code(data.paths[path] + ":" + at), " ", quoted(data.texts[says]));
        const text = lineOf(path, at);
        if (text) step.append(make("br"), code(text.trim()));
        steps.append(step);
      }
      box.append(steps);
    }
    for (const [target, row] of Object.entries(data.judged[c.judged[i]])) {
      box.append(make("h3", {}, "On ", code(target)));
      box.append(make("p", {}, make("span", { class: "verdict v-" + row.verdict }, row.verdict), " " + row.confidence));
      for (const [stage, directions] of Object.entries(row.stages)) {
        for (const [direction, word] of Object.entries(directions)) {
          box.append(make("p", { class: "fine" }, stage + ", " + direction + ": " + word));
        }
      }
      if (row.instead) box.append(make("p", {}, "Instead: ", code(row.instead)));
      const evidence = make("ul");
      for (const n of row.evidence) {
        const [kind, source, says, path, sdk] = data.evidence[n];
        const about = [path, sdk].filter(Boolean).join(" ");
        evidence.append(make("li", {}, make("strong", {}, kind), about ? quoted(" (" + about + ")") : "", ": ", quoted(says), " ", make("span", { class: "fine", "data-quoted": true }, source)));
      }
      if (row.evidence.length) box.append(make("p", { class: "fine" }, "Evidence"), evidence);
    }
    if (c.change[i] >= 0) {
      const proposal = data.changes[c.change[i]];
      box.append(make("h3", {}, "Proposed change (" + proposal.safety + ")"));
      box.append(make("p", {}, quoted(proposal.title), " ", code(proposal.codemod)));
      if (proposal.note) box.append(make("p", { class: "fine" }, quoted(proposal.note)));
      if (proposal.hunk) box.append(diff(proposal.hunk));
    } else if (c.fix[i] >= 0) {
      box.append(make("h3", {}, "A fix is known"), make("p", {}, quoted(data.texts[c.fix[i]])));
    }
    box.append(make("p", { class: "fine" }, "More: ", code("neuronport explain '" + rule[0] + "'"), ", fingerprint ", code(c.print[i])));
    return box;
  }
  function lineOf(path, at) {
    for (const run of data.frames[path] || []) {
      if (at >= run[0] && at < run[0] + run.length - 1) return run[at - run[0] + 1];
    }
    return null;
  }
  function lines(path, at, around) {
    if (lineOf(path, at) === null) return null;
    const pre = make("pre", { dir: "ltr", "data-quoted": true, tabindex: "0", role: "region", "aria-label": "Source" });
    for (let n = Math.max(1, at - around); n <= at + around; n += 1) {
      const text = lineOf(path, n);
      if (text === null) continue;
      pre.append(make("span", { class: n === at ? "hit" : "same" }, make("span", { class: "num" }, String(n).padStart(5) + "  "), text));
    }
    return pre;
  }
  function diff(text) {
    const pre = make("pre", { dir: "ltr", "data-quoted": true, tabindex: "0", role: "region", "aria-label": "Proposed change" });
    for (const row of text.split("\n")) {
      const name = row.startsWith("@@") ? "at" : row.startsWith("+") ? "add" : row.startsWith("-") ? "del" : "same";
      pre.append(make("span", { class: name }, row));
    }
    return pre;
  }
  // A rule's explanation: paragraphs, fenced code and code in a line; the rest stays as written.
  function prose(text) {
    const found = [];
    text.split(/^```.*$/m).forEach((part, n) => {
      if (n % 2) { found.push(make("pre", { dir: "ltr", "data-quoted": true }, part.replace(/^\n|\n$/g, ""))); return; }
      for (const paragraph of part.split(/\n\s*\n/)) {
        if (!paragraph.trim()) continue;
        const p = make("p", { "data-quoted": true });
        paragraph.trim().replace(/^#+\s*/, "").split(/`([^`]+)`/).forEach((piece, k) => p.append(k % 2 ? code(piece) : piece));
        found.push(p);
      }
    });
    return found;
  }

  // ---- keys, links, paper -------------------------------------------------------------------------

  function step(by) {
    const rows = [...list.querySelectorAll(".row")];
    if (!rows.length) return;
    const inside = document.activeElement && document.activeElement.closest("#list > li");
    const at = inside ? rows.indexOf(inside.querySelector(".row")) : -1;
    const to = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
    if (to >= 0 && to < rows.length) { rows[to].focus(); rows[to].scrollIntoView({ block: "nearest" }); return; }
    if (turn(by) && by < 0) { const last = list.querySelectorAll(".row"); last[last.length - 1].focus(); }
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape" && typing) {
      const row = list.querySelector(".row");
      if (row) row.focus(); else event.target.blur();
      return;
    }
    if (typing) return;
    if (event.key === "/") { event.preventDefault(); q.focus(); q.select(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "n") turn(1);
    else if (event.key === "p") turn(-1);
    else if (event.key === "Escape") { const inside = event.target.closest("#list > li"); if (inside) inside.querySelector(".row").focus(); }
  });
  function follow() {
    const wanted = /^#f=([0-9a-f]{4,})$/.exec(location.hash);
    if (!wanted) return;
    const i = c.print.findIndex((print) => print.startsWith(wanted[1]));
    if (i < 0) return;
    state.role = "";
    selects.role.value = "";
    shown = matching();
    page = Math.floor(shown.indexOf(i) / PAGE);
    draw();
    const place = byId("f-" + i);
    toggle(place, i);
    place.querySelector(".row").focus();
  }
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => {
    const keep = page;
    page = 0;
    draw(PRINTED);
    page = keep;
    if (shown.length > PRINTED) byId("status").append(" on paper; filter to print others");
    for (const part of document.querySelectorAll("details.diff")) part.dataset.was = String(part.open);
  });
  window.addEventListener("afterprint", () => draw());
  byId("status").tabIndex = -1;
  update();
  follow();
})();
