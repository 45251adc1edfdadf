"use strict";
// Shows the run and filters it. Names from the record become text and attributes that nobody runs, never markup.
{
  const FIRST_ROWS = 200, MORE_ROWS = 500, MOST_TILES = 60, DEEPEST = 8;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const many = (count, thing) => `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;

  /** An element; strings among its children become text. */
  const make = (tag, attributes = {}, ...children) => {
    const svg = ["svg", "rect", "path", "title"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const pressed = (node, is) => node.setAttribute("aria-pressed", String(is));

  // What the filters choose from: each attempt that has a line, and for each event what is only counted.
  const above = data.processes.map(() => []);
  data.processes.forEach((process, index) => {
    above[index] = process.parent === null ? [index] : [index, ...above[process.parent]];
  });
  const items = [
    ...data.attempts.map((attempt) => ({ ...attempt, count: 1 })),
    ...data.events.flatMap((event, index) => event.rest === 0 ? [] : [{
      event: index, seq: Infinity, time: event.latest, clock: event.clock, path: event.within, count: event.rest,
      last: event.last,
    }]),
  ].sort((one, other) => one.time - other.time || one.seq - other.seq || 0);
  for (const item of items) {
    const event = data.events[item.event];
    const process = data.processes[event.process];
    item.operation = event.operation;
    item.who = item.by ?? `${process.name} (${process.pid})`;
    item.processes = item.by == null ? above[event.process] : item.through;
    item.programs = item.by == null ? item.processes.map((index) => data.processes[index].name) : item.chain;
    const words = [item.path, item.asked, item.last, item.syscall, item.outcome, item.because, item.by,
      data.operations[event.operation], process.command, process.name];
    item.words = words.filter(Boolean).join("\n").toLowerCase();
  }
  const sum = (some) => some.reduce((total, item) => total + item.count, 0);
  const total = sum(items);

  const chosen = { text: "", program: "", operation: null, process: null, folder: null };
  const isIn = (path, folder) =>
    path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  const passesAllBut = (item) =>
    (chosen.operation === null || item.operation === chosen.operation) &&
    (chosen.program === "" || item.programs.includes(chosen.program)) &&
    (chosen.process === null || item.processes.includes(chosen.process)) &&
    (chosen.text === "" || item.words.includes(chosen.text));
  const lies = (item) => chosen.folder === null || (item.path != null && isIn(item.path, chosen.folder));
  const choose = (name, value) => {
    chosen[name] = chosen[name] === value ? null : value;
    show();
  };

  // ---- Head ----
  at("run").textContent = `run ${data.run}`;
  for (const [name, value] of data.facts) {
    at("facts").append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }
  at("warnings").append(...data.warnings.map((text) => make("li", {}, text)));
  at("notes").append(...data.notes.map((text) => make("li", {}, text)));

  // ---- Filters ----
  const operations = Object.entries(data.operations).map(([key, label]) => {
    const count = sum(items.filter((item) => item.operation === key));
    const button = make("button", { type: "button", class: key, click: () => choose("operation", key) },
      label, make("b", {}, count.toLocaleString("en")));
    at("operations").append(button);
    return { key, button };
  });
  const programs = new Map();
  for (const item of items) {
    for (const name of new Set(item.programs)) programs.set(name, (programs.get(name) ?? 0) + item.count);
  }
  at("program").append(make("option", { value: "" }, "all"));
  for (const [name, count] of [...programs].sort((one, other) => other[1] - one[1])) {
    at("program").append(make("option", { value: name }, `${name} (${count.toLocaleString("en")})`));
  }
  at("program").addEventListener("change", (event) => {
    chosen.program = event.target.value;
    show();
  });
  at("text").addEventListener("input", (event) => {
    chosen.text = event.target.value.trim().toLowerCase();
    show();
  });
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  const showAll = () => {
    Object.assign(chosen, { text: "", program: "", operation: null, process: null, folder: null });
    at("text").value = at("program").value = "";
    show();
    at("text").focus();
  };
  const showChosen = (shown, unsure) => {
    const chips = [];
    if (chosen.process !== null) {
      const process = data.processes[chosen.process];
      chips.push(["process", `${process.name} (${process.pid})`]);
    }
    if (chosen.folder !== null) chips.push(["folder", chosen.folder]);
    const buttons = chips.map(([name, label]) => make("button",
      { type: "button", title: `no longer only this ${name}`, click: () => { choose(name, chosen[name]); at("text").focus(); } },
      `${label} ✕`));
    const filtered = Object.values(chosen).some((value) => value !== null && value !== "");
    if (filtered) buttons.push(make("button", { type: "button", click: showAll }, "Show all"));
    at("chosen").replaceChildren(...buttons);
    for (const { key, button } of operations) pressed(button, chosen.operation === key);
    const also = unsure === 0 ? "" : `; ${unsure.toLocaleString("en")} more are only counted above this folder`;
    at("status").textContent = `${shown.toLocaleString("en")} of ${many(total, "attempt")}${also}`;
  };

  // ---- When ----
  const begun = Math.min(...data.events.map((event) => event.begun));
  const span = Math.max(1, Math.max(...data.events.map((event) => event.latest)) - begun);
  const across = (time) => Math.round(((time - begun) / span) * 996) + 2;
  const clock = (time) => {
    const text = new Date(time + data.offset * 1000).toISOString();
    return text.slice(11, span > 600_000 ? 19 : 23);
  };
  if (data.events.length > 0) {
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const label = make("span", {}, clock(begun + part * span));
      label.style.left = `${part * 100}%`;
      at("axis").append(label);
    }
  }
  const lanes = data.events.map((event) => {
    const process = data.processes[event.process];
    const strokes = make("path", {});
    const left = across(event.begun);
    const bar = make("rect", { x: left, y: 4, width: Math.max(3, across(event.latest) - left), height: 12, rx: 1 });
    const count = make("b");
    const button = make("button", { type: "button", title: `${process.command}\n${event.sentence}`, click: () => choose("process", event.process) },
      make("span", {}, `${process.name} (${process.pid})`), " ", make("small", {}, data.operations[event.operation]), " ", count);
    const picture = make("svg", { viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" }, bar, strokes);
    const lane = make("div", { class: `lane ${event.operation}` }, button, picture);
    return { event, lane, button, strokes, count };
  });
  [...lanes].sort((one, other) => one.event.begun - other.event.begun).forEach(({ lane }) => at("lanes").append(lane));
  const showTimes = (shown) => {
    const marks = lanes.map(() => new Set());
    const counts = lanes.map(() => 0);
    for (const item of shown) {
      counts[item.event] += item.count;
      if (item.seq !== Infinity) marks[item.event].add(across(item.time));
    }
    lanes.forEach(({ event, lane, button, strokes, count }, index) => {
      lane.hidden = counts[index] === 0;
      pressed(button, chosen.process === event.process);
      count.textContent = counts[index].toLocaleString("en");
      strokes.setAttribute("d", [...marks[index]].map((x) => `M${x} 1V19`).join(""));
    });
  };

  // ---- Who ----
  const nodes = data.processes.map((process, index) => {
    const count = make("small");
    const button = make("button", { type: "button", click: () => choose("process", index) },
      make("code", {}, process.command), make("small", {}, ` pid ${process.pid}, `), count);
    const list = make("ul");
    const node = make("li", {}, button);
    return { node, button, list, count };
  });
  const sentences = data.events.map((event) => {
    const sentence = make("div", { class: `event ${event.operation}` }, make("span", {}, event.sentence), make("small", {}, event.law));
    nodes[event.process].node.append(sentence);
    return sentence;
  });
  const roots = make("ul");
  data.processes.forEach(({ parent }, index) => (parent === null ? roots : nodes[parent].list).append(nodes[index].node));
  for (const { node, list } of nodes) if (list.firstChild) node.append(list);
  at("processes").append(roots);
  const showTree = (shown) => {
    const counts = nodes.map(() => 0);
    const told = new Set();
    for (const item of shown) {
      told.add(item.event);
      for (const index of item.processes) counts[index] += item.count;
    }
    sentences.forEach((sentence, index) => sentence.classList.toggle("off", !told.has(index)));
    nodes.forEach(({ button, count }, index) => {
      count.textContent = many(counts[index], "attempt");
      button.classList.toggle("off", counts[index] === 0);
      pressed(button, chosen.process === index);
    });
  };

  // ---- Where ----
  const parts = (path) => path.startsWith("/") ? ["/", ...path.slice(1).split("/").filter(Boolean)] : path.split("/");
  const below = (folder, name) => folder === "" ? name : folder.endsWith("/") ? folder + name : `${folder}/${name}`;
  const folderOf = (name, path) => ({ name, path, count: 0, own: 0, rest: 0, kinds: {}, inside: new Map() });
  /** All folders of these items, as one tree. */
  const plant = (shown) => {
    const top = folderOf("", "");
    for (const item of shown) {
      let node = top;
      const add = () => {
        node.count += item.count;
        node.kinds[item.operation] = (node.kinds[item.operation] ?? 0) + item.count;
      };
      add();
      for (const name of parts(item.path)) {
        if (!node.inside.has(name)) node.inside.set(name, folderOf(name, below(node.path, name)));
        node = node.inside.get(name);
        add();
      }
      if (item.seq === Infinity) node.rest += item.count;
      else node.own += item.count;
    }
    return top;
  };
  /** A folder in which there is nothing but another one is shown with it. */
  const onlyOne = (node) => {
    const [inner] = node.inside.values();
    return node.inside.size === 1 && node.own + node.rest === 0 && inner.inside.size > 0 ? inner : null;
  };
  const tilesOf = (node) => {
    const tiles = [...node.inside.values()].map((inner) => {
      for (let name = inner.name, next; ; inner = { ...next, name }) {
        next = onlyOne(inner);
        if (next === null) return inner;
        name = below(name, next.name);
      }
    });
    const part = (name, count, kind) => ({ ...folderOf(name, node.path), count, kinds: node.kinds, kind });
    if (node.own > 0 && tiles.length + node.rest > 0) tiles.push(part("the folder itself", node.own));
    if (node.rest > 0) tiles.push(part("only counted", node.rest, "rest"));
    tiles.sort((one, other) => other.count - one.count);
    const others = tiles.splice(MOST_TILES);
    if (others.length > 0) tiles.push(part(`${others.length} others`, sum(others)));
    return tiles.length > 0 ? tiles : [node];
  };
  /** Squarified treemap (Bruls, Huizing, van Wijk 2000): rows are filled as long as their tiles come nearer to squares. */
  const squarify = (tiles, x, y, w, h) => {
    const placed = [];
    let left = sum(tiles);
    for (let first = 0; first < tiles.length;) {
      const scale = (w * h) / left, side = Math.min(w, h);
      let end = first, row = 0, worst = Infinity;
      for (; end < tiles.length; end++) {
        const thick = ((row + tiles[end].count) * scale) / side;
        const proportions = [tiles[first], tiles[end]].map((tile) => (tile.count * scale) / thick / thick);
        const next = Math.max(...proportions.map((one) => Math.max(one, 1 / one)));
        if (next > worst) break;
        row += tiles[end].count;
        worst = next;
      }
      const thick = (row * scale) / side;
      for (let along = 0; first < end; first++) {
        const length = (tiles[first].count * scale) / thick;
        placed.push(w >= h ? [tiles[first], x, y + along, thick, length] : [tiles[first], x + along, y, length, thick]);
        along += length;
      }
      if (w >= h) [x, w] = [x + thick, w - thick];
      else [y, h] = [y + thick, h - thick];
      left -= row;
    }
    return placed;
  };
  const draw = (tiles, x, y, w, h, depth, out) => {
    for (const [tile, left, top, width, height] of squarify(tiles, x, y, w, h)) {
      if (width < 3 || height < 3) continue;
      const inner = tile.inside.size > 0 && depth < DEEPEST && width > 70 && height > 60;
      const kind = Object.entries(tile.kinds).sort((one, other) => other[1] - one[1])[0]?.[0] ?? "";
      const label = `${tile.path || tile.name}${tile.name === parts(tile.path).at(-1) ? "" : ` (${tile.name})`}: ${many(tile.count, "attempt")}`;
      const button = make("button", {
        type: "button", class: `${kind} ${inner ? "inner" : ""} ${tile.kind ?? ""}`, title: label, "aria-label": label,
        "data-path": tile.path, click: () => enter(tile.path),
      });
      if (width > 30 && height > 16) {
        const count = height > 34 || inner ? [make("b", {}, tile.count.toLocaleString("en"))] : [];
        button.append(make("span", {}, tile.name, ...count));
      }
      Object.assign(button.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
      out.push(button);
      if (inner) draw(tilesOf(tile), left + 4, top + 21, width - 8, height - 25, depth + 1, out);
    }
  };
  const enter = (folder) => {
    chosen.folder = folder === "" ? null : folder;
    show();
    at("crumbs").lastElementChild?.focus();
  };
  const showPlaces = (shown) => {
    const placed = shown.filter((item) => item.path != null);
    let node = plant(placed);
    const crumbs = [["all folders", ""]];
    const steps = chosen.folder === null ? [] : parts(chosen.folder);
    for (const step of steps) {
      node = node.inside.get(step) ?? folderOf(step, below(node.path, step));
      crumbs.push([node.name, node.path]);
    }
    while (onlyOne(node) !== null) {
      node = onlyOne(node);
      crumbs.push([node.name, node.path]);
    }
    at("crumbs").replaceChildren(...crumbs.flatMap(([name, path], index) => [
      ...(index > 1 && name !== "/" && crumbs[index - 1][0] !== "/" ? ["/"] : index > 0 ? [" "] : []),
      make("button", { type: "button", click: () => enter(path), "aria-current": index + 1 === crumbs.length ? "true" : null }, name),
    ]));
    const tiles = [];
    const { clientWidth: width, clientHeight: height } = at("map");
    if (node.count > 0) draw(tilesOf(node), 0, 0, width, height, 1, tiles);
    else tiles.push(make("p", {}, "Nothing here passes the filters."));
    at("map").replaceChildren(...tiles);
    const elsewhere = sum(shown) - sum(placed);
    at("nowhere").textContent = elsewhere === 0 ? "" : `Besides, ${many(elsewhere, "attempt")} without a path.`;
  };

  // ---- What ----
  let limit = FIRST_ROWS;
  const rowOf = (item) => {
    const listed = item.seq !== Infinity;
    const aside = listed
      ? [item.asked == null || item.path == null || item.path.endsWith(`/${item.asked}`) ? null : `as ${item.asked}`, item.because]
      : ["only counted", item.last == null ? null : `the last on ${item.last}`];
    const operation = data.operations[item.operation];
    return make("tr", { class: listed ? null : "rest" },
      make("td", {}, listed ? String(item.seq) : "…"),
      make("td", {}, item.clock),
      make("td", {}, item.who),
      make("td", { class: `op ${item.operation}` }, operation),
      make("td", {}, listed ? `${item.syscall} ${item.outcome}` : `${item.count.toLocaleString("en")} more`),
      make("td", { class: "path" }, item.path ?? item.asked ?? "",
        ...aside.filter(Boolean).map((text) => make("small", {}, text))));
  };
  const showRows = (shown) => {
    at("rows").replaceChildren(...shown.slice(0, limit).map(rowOf));
    const left = shown.length - limit;
    const button = () => make("button", { type: "button", click: () => { limit += MORE_ROWS; showRows(shown); at("more").firstChild?.focus(); } },
      `${Math.min(left, MORE_ROWS)} more rows of ${left}`);
    at("more").replaceChildren(...(left > 0 ? [button()] : shown.length === 0 ? ["Nothing passes the filters."] : []));
  };

  const show = () => {
    const pass = items.filter(passesAllBut);
    const shown = pass.filter(lies);
    const unsure = chosen.folder === null ? [] : pass.filter((item) =>
      item.seq === Infinity && item.path != null && item.path !== chosen.folder && isIn(chosen.folder, item.path));
    limit = FIRST_ROWS;
    showChosen(sum(shown), sum(unsure));
    showTimes(shown);
    showTree(shown);
    showPlaces(shown);
    showRows(shown);
  };
  for (const id of ["filters", "times", "tree", "places", "list"]) at(id).hidden = items.length === 0;
  at("plain").open = false;
  show();
  let width = at("map").clientWidth;
  new ResizeObserver(() => {
    if (at("map").clientWidth === width) return;
    width = at("map").clientWidth;
    showPlaces(items.filter((item) => passesAllBut(item) && lies(item)));
  }).observe(at("map"));
}
