"use strict";
const ROW = 46, NARROWEST = 30, WIDEST = 110, BAR = 20, HEAD = 18, NAME = 18, MOST_ROWS = 200;
const SIGNS = { rejected: "\u2717", failed: "!", "in doubt": "?", squashed: "\u2205", cancelled: "\u2205",
  recovered: "\u21bb", deferred: "\u2591", held: "\u2016", objected: "~", done: "", pending: "\u2026" };
const part = (id) => document.getElementById(id);
const state = { data: null, at: -1, group: null, shown: [], chosen: -1, places: new Map(), lanes: [], bars: [],
  touched: false };

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);  // strings become text nodes: nothing of the file is ever markup
  return node;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

const single = (flags) => flags.replace(/[^a-z]/g, "-");

function index() {
  const { data } = state;
  part("title").textContent = data.name;
  part("groupword").textContent = data.kind === "trace" ? "run" : "episode";
  part("problems").replaceChildren(...data.problems.map((text) => made("li", {}, text)));
  const select = part("group");
  select.replaceChildren(...data.index.map(([id, calls, rejected], place) => made("option", { value: place },
    `${id} \u2013 ${calls} calls` + (rejected ? `, ${rejected} rejected` : ""))));
  part("grouplabel").hidden = data.index.length < 2;
}

async function open(place, keep = false) {
  const { data } = state, before = keep ? state.group?.items[state.chosen] : undefined;
  if (!data.index.length) {
    part("count").textContent = "The file holds nothing to show yet.";
    return;
  }
  state.at = place;
  state.group = await unpacked(data.packed[place]);
  const { items, facts, tasks } = state.group;
  for (const item of items) item.text = JSON.stringify([item.n, item.t, item.l, item.s, item.d, item.h]).toLowerCase();
  part("group").selectedIndex = place;
  part("facts").replaceChildren(...facts.map(([name, value]) => made("div", { title: value }, made("dt", {}, name),
    made("dd", {}, value))));
  choices("filter", ["everything", "calls", "messages", ...new Set(items.flatMap((item) => item.f))], keep);
  choices("task", ["all", ...tasks.map(([id]) => id)], keep);
  layLanes();
  // Entries may have come before it; an entry keeps its name, its task and its first moment.
  const same = (item) => item.k === before.k && item.n === before.n && item.t === before.t && item.h[0]?.[0] === before.h[0]?.[0];
  const chosen = before ? items.findIndex(same) : -1;
  filtered(chosen >= 0 ? chosen : items.findIndex((item) => item.f.includes("rejected")), keep && chosen >= 0);
}

function choices(id, names, keep) {
  const before = keep ? part(id).value : names[0];
  part(id).replaceChildren(...names.map((name) => made("option", { value: name }, name)));
  part(id).value = names.includes(before) ? before : names[0];
}

function wanted(item) {
  const show = part("filter").value, task = part("task").selectedIndex;
  if (task > 0 && item.t !== part("task").value) return false;
  if (show === "calls" ? item.k !== "call" : show === "messages" ? item.k !== "message"
    : show !== "everything" && !item.f.includes(show)) return false;
  return part("search").value.toLowerCase().split(/\s+/).every((word) => item.text.includes(word));
}

function filtered(preferred = state.chosen, quiet = false) {
  const { items } = state.group;
  state.shown = items.map((_, place) => place).filter((place) => wanted(items[place]));
  state.places = new Map(state.shown.map((place, row) => [place, row]));
  part("rows").style.height = `${state.shown.length * ROW}px`;
  const of = state.shown.length === items.length ? "" : ` of ${items.length}`;
  part("count").textContent = `${state.shown.length}${of} entries`;
  const rejections = state.shown.some((place) => items[place].f.includes("rejected"));
  part("next").disabled = part("previous").disabled = !rejections;
  choose(state.places.has(preferred) ? preferred : state.shown[0] ?? -1, quiet);
}

function choose(place, quiet = false) {
  state.chosen = place;
  if (!quiet && place >= 0) {
    const list = part("list"), top = state.places.get(place) * ROW;
    if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) {
      list.scrollTop = Math.max(0, top - list.clientHeight / 3);
    }
    const bar = state.bars.find((each) => each.place === place), lanes = part("lanes");
    if (bar) {
      if (bar.x < lanes.scrollLeft || bar.x + state.width > lanes.scrollLeft + lanes.clientWidth) lanes.scrollLeft = bar.x - 80;
      if (bar.y < lanes.scrollTop || bar.y + BAR > lanes.scrollTop + lanes.clientHeight) lanes.scrollTop = bar.y - 40;
    }
  }
  drawRows();
  drawLanes();
  if (!quiet || !part("detail").firstChild) tell();
}

function drawRows() {
  const list = part("list"), { items, column } = state.group;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
  const nodes = [];
  for (let row = first; row < last; row += 1) {
    const place = state.shown[row], item = items[place];
    const name = [item.t, item.n].filter(Boolean).join(" / ");
    const node = made("div", { class: `row ${item.k} ${single(item.s)}`, role: "option", id: `row${place}`,
      "aria-selected": place === state.chosen, "aria-setsize": state.shown.length, "aria-posinset": row + 1 },
    made("span", { class: "where", title: `${column} ${item.c}` }, String(item.c)), made("span", {}, name),
    made("span", { class: "status" }, item.k === "message" ? "" : `${SIGNS[item.s] ?? ""} ${item.s}`),
    made("span", { class: "line" }, item.l));
    node.style.top = `${row * ROW}px`;
    node.addEventListener("click", () => { state.touched = true; choose(place); reveal(); });
    nodes.push(node);
  }
  part("rows").replaceChildren(...nodes);
  if (state.chosen >= 0) list.setAttribute("aria-activedescendant", `row${state.chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

// A lane for each task, a column for each turn; calls that overlap stand in rows of their lane.
function layLanes() {
  const { items, tasks, column } = state.group;
  const last = items.reduce((most, item) => Math.max(most, item.c, item.e), 1);
  const names = new Map(tasks.map(([id, goal]) => [id, { id, goal, calls: [], free: [] }]));
  items.forEach((item, place) => {
    if (item.k !== "call") return;
    if (!names.has(item.t)) names.set(item.t, { id: item.t, goal: "", calls: [], free: [] });
    names.get(item.t).calls.push(place);
  });
  let y = HEAD;
  const width = Math.floor(part("lanes").clientWidth / (last + 1));
  const COLUMN = state.width = Math.max(NARROWEST, Math.min(WIDEST, width));
  state.bars = [];
  state.lanes = [...names.values()];
  for (const lane of state.lanes) {
    lane.y = y;
    for (const place of lane.calls) {
      const item = items[place], end = item.e < 0 ? last : Math.max(item.c, item.e);
      let row = lane.free.findIndex((until) => until < item.c);
      if (row < 0) row = Math.min(lane.free.length, MOST_ROWS);
      lane.free[row] = end;
      state.bars.push({ place, x: item.c * COLUMN + 2, y: y + NAME + row * BAR, width: (end - item.c + 1) * COLUMN - 4,
        open: item.e < 0 });
    }
    lane.height = NAME + Math.max(1, lane.free.length) * BAR + 2;
    y += lane.height + 4;
  }
  state.last = last;
  part("field").style.width = `${(last + 1) * COLUMN}px`;
  part("field").style.height = `${y}px`;
  part("lanes").setAttribute("aria-label", `${state.lanes.length} tasks over ${last} ${column}s; the list below says the same`);
  const seen = [...new Set(items.filter((item) => item.k === "call").map((item) => item.s))];
  part("legend").replaceChildren(made("span", {}, `columns: ${column}s of the ${column === "tick" ? "benchmark" : "model"}, `
    + "a bar ends where its result was delivered"),
  ...seen.map((name) => made("span", {}, `${SIGNS[name] || "\u25ac"} ${name}`)));
}

function drawLanes() {
  const box = part("lanes"), { items } = state.group, COLUMN = state.width;
  const [left, right] = [box.scrollLeft - 60, box.scrollLeft + box.clientWidth + 60];
  const [top, bottom] = [box.scrollTop - 40, box.scrollTop + box.clientHeight + 40];
  const nodes = [];
  const step = state.last > 400 ? 10 : 1;
  for (let tick = Math.max(0, Math.floor(left / COLUMN)); tick <= state.last && tick * COLUMN < right; tick += 1) {
    if (tick % step) continue;
    const node = made("span", { class: "tick" }, String(tick));
    Object.assign(node.style, { left: `${tick * COLUMN}px`, width: `${COLUMN}px` });
    nodes.push(node);
  }
  for (const lane of state.lanes) {
    if (lane.y > bottom || lane.y + lane.height < top) continue;
    const node = made("div", { class: "lane", title: lane.goal }, made("span", {}, `${lane.id} ${lane.goal}`.slice(0, 120)));
    Object.assign(node.style, { top: `${lane.y}px`, width: "100%", height: `${lane.height}px` });
    nodes.push(node);
  }
  for (const bar of state.bars) {
    if (bar.x > right || bar.x + bar.width < left || bar.y > bottom || bar.y + BAR < top) continue;
    const item = items[bar.place];
    const node = made("span", { class: `bar ${single(item.s)}${bar.open ? " open" : ""}`, "data-sign": SIGNS[item.s] ?? "",
      title: `${item.n}: ${item.s}` }, ` ${item.n}`);
    Object.assign(node.style, { left: `${bar.x}px`, top: `${bar.y}px`, width: `${bar.width}px` });
    if (bar.place === state.chosen) node.dataset.chosen = "";
    if (!state.places.has(bar.place)) node.style.opacity = ".25";
    node.addEventListener("click", () => {
      state.touched = true;
      if (!state.places.has(bar.place)) { part("filter").selectedIndex = part("task").selectedIndex = 0; part("search").value = ""; }
      filtered(bar.place);
      reveal();
    });
    nodes.push(node);
  }
  part("field").replaceChildren(...nodes);
}

// In a narrow window the detail lies below the list.
function reveal() {
  if (part("detail").getBoundingClientRect().top > innerHeight - 100) part("detail").scrollIntoView();
}

function tell() {
  const item = state.group.items[state.chosen], { column, tasks, id } = state.group;
  if (!item) {
    part("detail").replaceChildren(made("p", {}, "Nothing in the file fits the search and the filters."));
    return;
  }
  const goal = new Map(tasks).get(item.t);
  const steps = item.h.map(([time, what, why]) => made("li", {}, made("time", {}, time),
    made("span", {}, what + (why ? `: ${why}` : ""))));
  const sections = item.d.flatMap(([head, text]) => [made("h3", {}, head),
    made("pre", head === "The model was told" ? { class: "told" } : {}, text)]);
  part("detail").replaceChildren(made("h2", {}, [item.t, item.n].filter(Boolean).join(" / ")),
    made("p", { class: "soft" }, `${column} ${item.c}${item.s ? `, ${item.s}` : ""}`),
    ...(steps.length ? [made("ol", {}, ...steps)] : []), ...sections,
    ...(goal ? [made("h3", {}, "Task"), made("pre", {}, goal)] : []));
  part("detail").scrollTop = 0;
  const mark = `#${encodeURIComponent(id)}&${state.chosen}`;
  if (state.touched) history.replaceState(null, "", mark);
}

function move(step) {
  if (!state.shown.length) return;
  state.touched = true;
  const row = Math.max(0, Math.min(state.shown.length - 1, (state.places.get(state.chosen) ?? 0) + step));
  choose(state.shown[row]);
}

function jump(step) {
  const { items } = state.group, many = state.shown.length;
  const from = state.places.get(state.chosen) ?? 0;
  for (let n = 1; n <= many; n += 1) {
    const place = state.shown[(from + step * n + many * n) % many];
    if (items[place].f.includes("rejected")) { state.touched = true; choose(place); return; }
  }
}

// `#id` opens a run or episode, `#id&number` one of its entries.
async function fromHash() {
  const [name, number] = location.hash.slice(1).split("&");
  if (!name || name === "list") return false;
  let id = name;
  try { id = decodeURIComponent(name); } catch { return false; }
  const place = state.data.index.findIndex(([each]) => each === id);
  if (place < 0) return false;
  await open(place);
  if (number && state.group.items[Number(number)]) choose(Number(number));
  return true;
}

async function follow(version) {
  let next = version;
  try {
    const answer = await fetch(`data?version=${encodeURIComponent(version)}`);
    if (answer.status === 200) {
      const data = await answer.json();
      next = data.version;
      if (data.error) part("live").textContent = data.error;
      else {
        const id = state.data.index[state.at]?.[0];
        const first = !state.touched && !(state.group?.items[state.chosen]?.f.includes("rejected"));
        Object.assign(state.data, data);
        index();
        const place = Math.max(0, data.index.findIndex(([each]) => each === id));
        if (first) state.chosen = -1;
        await open(first ? begin() : place, !first);
        part("live").textContent = `live, ${new Date().toLocaleTimeString()}`;
      }
    }
  } catch {
    part("live").textContent = "The command asyncguard view has ended; this is what it showed last.";
    return;
  }
  setTimeout(() => follow(next), 700);
}

const begin = () => Math.max(0, state.data.index.findIndex(([, , rejected]) => rejected));

part("choose").addEventListener("submit", (event) => event.preventDefault());
part("group").addEventListener("change", () => { state.touched = true; open(part("group").selectedIndex); });
for (const id of ["filter", "task"]) part(id).addEventListener("change", () => filtered());
part("search").addEventListener("input", () => filtered());
part("next").addEventListener("click", () => jump(1));
part("previous").addEventListener("click", () => jump(-1));
part("list").addEventListener("scroll", () => requestAnimationFrame(drawRows));
part("lanes").addEventListener("scroll", () => requestAnimationFrame(drawLanes));
addEventListener("resize", () => { if (state.group) { layLanes(); drawRows(); drawLanes(); } });
addEventListener("hashchange", fromHash);
part("list").addEventListener("keydown", (event) => {
  if (event.key === "Enter") part("detail").focus();
  const page = Math.max(1, Math.floor(part("list").clientHeight / ROW) - 1);
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
  if (!step) return;
  event.preventDefault();
  move(step);
});

(async () => {
  state.data = JSON.parse(part("data").textContent);
  index();
  if (!await fromHash()) await open(begin());
  if (state.data.follow) follow(state.data.version ?? "");
  document.documentElement.dataset.ready = "yes";
})();
