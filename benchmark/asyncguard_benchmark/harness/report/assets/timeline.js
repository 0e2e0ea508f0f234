// One episode as swim lanes: a lane for each sub-task, a column for each tick; the gold chain stands below its lane.
const COLUMN = 46;
const LINE = 20;
const HEAD = 20;
let hatches = 0;

function timeline(head, episode, tasks, known) {
  const [rounds, ticks, idle, unreadable, truncated] = episode.n;
  const calls = episode.c.map((told, number) => callOf(told, number, tasks, known));
  const lanes = tasks.map((id, lane) => laneOf(id, lane, calls, episode.g));
  letter(calls);
  const more = [idle && `${idle} idle`, unreadable && `${unreadable} unreadable`, truncated && "cut off"];
  const facts = [`${rounds} rounds`, `${ticks} ticks`, ...more].filter(Boolean).join(", ");
  const detail = made("p", { class: "detail", role: "status" }, "Choose a call to read it: Tab, then arrow keys.");
  const scroll = made("div", { class: "wide" }, picture(head, ticks, lanes, calls, episode.g, detail));
  return made("figure", { style: "max-width:none" }, made("h3", {}, head), made("p", { class: "note" }, facts), scroll,
    detail, ...lanes.map((lane) => chain(lane, episode, known[lane.id])), callTable(calls, episode.g, tasks));
}

function callOf([lane, gold, issued, delivered, premature, ...more], number, tasks, known) {
  const step = gold >= 0 ? known[tasks[lane]][2][gold] : null;
  const [tool, args, result] = step ? [step[0], step[1], more[0] ?? step[2]] : more;
  return { lane, gold, issued, delivered, premature: Boolean(premature), tool, args, result, number, mark: String(gold + 1) };
}

function letter(calls) {
  calls.filter((call) => call.gold < 0).forEach((call, index) => {
    call.mark = String.fromCharCode(97 + (index % 26)) + (index >= 26 ? Math.floor(index / 26) : "");
  });
}

function laneOf(id, lane, calls, guards) {
  const own = calls.filter((call) => call.lane === lane);
  const free = [];
  for (const call of own) {
    const row = free.findIndex((until) => until < call.issued);
    call.row = row < 0 ? free.length : row;
    // A result comes at the end of its tick, after what is said in it; one that never comes holds its line.
    free[call.row] = call.delivered < 0 ? Infinity : call.delivered;
  }
  // What guards did to one tick of a lane stands in as many lines as it has words.
  const marks = new Map();
  for (const [tick, guard, verdict, at] of guards.filter((each) => each[3] === lane)) {
    const words = marks.get(tick) ?? marks.set(tick, new Map()).get(tick);
    const text = `${verdict}|${guard}`;
    words.set(text, (words.get(text) ?? 0) + 1);
  }
  const most = Math.max(0, ...[...marks.values()].map((words) => words.size));
  return { id, lane, calls: own, marks, rows: Math.max(1, free.length), above: most };
}

function picture(head, ticks, lanes, calls, guards, detail) {
  const width = (ticks + 1) * COLUMN + 8;
  const x = (tick) => 4 + (tick - 1) * COLUMN;
  const name = `hatch${hatches++}`;
  const pattern = drawn("pattern", { id: name, width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, drawn("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 5 }));
  const body = [drawn("defs", {}, pattern)];
  let y = HEAD;
  for (const lane of lanes) {
    const top = y + 17 + lane.above * 13;
    const bottom = top + lane.rows * LINE + 4;
    body.push(drawn("rect", { class: "lane", x: 0, y, width, height: bottom - y }),
      drawn("text", { class: "soft", x: 6, y: y + 13 }, lane.id));
    Object.assign(lane, { y, top, bottom });
    y = bottom + 6;
  }
  for (let tick = 1; tick <= ticks + 1; tick += 1) {
    body.push(drawn("line", { class: "grid", x1: x(tick), x2: x(tick), y1: HEAD - 4, y2: y - 6 }));
    if (tick <= ticks) body.push(drawn("text", { class: "tick", x: x(tick) + COLUMN / 2, y: 11 }, String(tick)));
  }
  const shapes = [];
  for (const lane of lanes) {
    body.push(...guardMarks(lane, x));
    for (const call of lane.calls) shapes.push(shape(call, lane, x, ticks, name));
  }
  shapes.sort((one, other) => one.call.number - other.call.number);
  body.push(...shapes.map((each) => each.node));
  const svg = drawn("svg", { class: "lanes", width, height: y, role: "group", "aria-label": `Timeline of ${head}` }, ...body);
  rove(svg, shapes, detail);
  return svg;
}

function shape(call, lane, x, ticks, hatch) {
  const top = lane.top + call.row * LINE;
  const end = call.delivered < 0 ? ticks + 1 : call.delivered;
  const begin = x(call.issued);
  const parts = [];
  if (end > call.issued) {
    parts.push(drawn("rect", { class: "pending", x: begin + COLUMN * 0.5, y: top + 3, height: 12,
      width: (end - call.issued) * COLUMN - (call.delivered < 0 ? COLUMN * 0.5 : 0), fill: `url(#${hatch})` }));
    const tip = x(end) + COLUMN * 0.5;
    if (call.delivered >= 0) parts.push(drawn("path", { class: "arrived", d: `M${tip} ${top + 3}l6 6l-6 6z` }));
  }
  parts.push(drawn("rect", { class: "made", x: begin + 3, y: top, width: COLUMN * 0.5, height: 18, rx: 3 }),
    drawn("text", { x: begin + 3 + COLUMN * 0.25, y: top + 13 }, call.mark));
  const kind = ["call", call.gold < 0 && "other", call.premature && "premature"].filter(Boolean).join(" ");
  const node = drawn("g", { class: kind, tabindex: -1, role: "button", "aria-label": said(call, lane.id) }, ...parts);
  return { call, node, lane };
}

const SIGNS = { reject: "M-4 -4L4 4M4 -4L-4 4", defer: "M-2.5 -4V4M2.5 -4V4", hold: "M-2.5 -4V4M2.5 -4V4" };
const OTHER_SIGN = "M-4 0A4 4 0 1 1 0 4";

function guardMarks(lane, x) {
  const nodes = [];
  for (const [tick, words] of lane.marks) {
    [...words].forEach(([text, times], index) => {
      const [verdict, guard] = text.split("|");
      const y = lane.y + 24 + index * 13;
      const mild = verdict === "reject" ? "" : " mild";
      nodes.push(drawn("g", { class: `guard${mild}`, transform: `translate(${x(Math.max(1, tick)) + 6} ${y})` },
        drawn("path", { class: "stroke", d: SIGNS[verdict] ?? OTHER_SIGN }),
        drawn("text", { x: 8, y: 3.5 }, guard + (times > 1 ? ` \u00d7${times}` : "")),
        drawn("title", {}, `tick ${tick}: ${guard}, ${verdict}`)));
    });
  }
  return nodes;
}

function said(call, id) {
  const until = call.delivered < 0 ? "its result never came" : `its result came in tick ${call.delivered}`;
  return `${id}, tick ${call.issued}, ${call.gold < 0 ? "no call of the gold chain" : `gold call ${call.gold + 1}`}`
    + `${call.premature ? ", while another was pending" : ""}; ${until}: ${call.tool}(${call.args})`;
}

function rove(svg, shapes, detail) {
  if (!shapes.length) return;
  const tell = (each) => {
    detail.replaceChildren(`${said(each.call, each.lane.id)} `, made("br"), "\u2192 ", made("code", {}, each.call.result));
    shapes.forEach((other) => other.node.setAttribute("tabindex", other === each ? 0 : -1));
  };
  shapes[0].node.setAttribute("tabindex", 0);
  shapes.forEach((each, index) => {
    each.node.addEventListener("focus", () => tell(each));
    each.node.addEventListener("click", () => each.node.focus());
    each.node.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      shapes[Math.max(0, Math.min(shapes.length - 1, index + step))].node.focus();
    });
  });
}

function chain(lane, episode, [category, query, gold]) {
  const solved = Boolean(episode.s[lane.lane]);
  const taken = new Set(lane.calls.map((call) => call.gold));
  const steps = gold.map(([tool, args, result], place) => made("li", { class: taken.has(place) ? "" : "missing" },
    made("code", {}, `${tool}(${args})`), taken.has(place) ? "" : " \u2013 not made"));
  const others = lane.calls.filter((call) => call.gold < 0).map((call) => made("li", {}, `${call.mark}. `,
    made("code", {}, `${call.tool}(${call.args})`)));
  const verdict = made("span", { class: solved ? "solved" : "unsolved" }, solved ? "\u25cf solved" : "\u25cb not solved");
  const why = episode.w[lane.lane];
  return made("div", { class: "task" }, made("p", {}, made("strong", {}, lane.id), ` (${category}) `, verdict,
    why ? `: ${why}` : ""), made("p", { class: "note" }, query), made("ol", { class: "chain" }, ...steps),
    ...(others.length ? [made("p", { class: "note" }, "Other calls"), made("ul", { class: "others" }, ...others)] : []));
}

function callTable(calls, guards, tasks) {
  const cells = (texts) => texts.map((text) => made("td", {}, text));
  const rows = calls.map((call) => made("tr", {}, ...cells([String(call.issued),
    call.delivered < 0 ? DASH : String(call.delivered), tasks[call.lane], call.mark, `${call.tool}(${call.args})`,
    call.result])));
  const marks = guards.map(([tick, guard, verdict, lane, call]) => made("tr", {}, ...cells([String(tick), DASH,
    tasks[lane] ?? DASH, DASH, `${guard}: ${verdict}`, call])));
  const heads = ["tick", "result in", "task", "gold", "call, or guard: verdict", "result, or call judged"];
  const head = made("tr", {}, ...heads.map((text) => made("th", { scope: "col" }, text)));
  const table = made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows, ...marks));
  return made("details", {}, made("summary", {}, "As a table"), made("div", { class: "wide", tabindex: 0 }, table));
}
