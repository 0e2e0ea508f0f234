// All compositions under two arms: a list to move in by arrow keys, and timelines of the chosen one.
function startExplorer(data) {
  const part = (id) => document.getElementById(id);
  const runs = data.runs.map(([run, setup, seed, arm, played, solved], index) => ({
    index, run, setup, seed, arm, played: bits(played), solved: bits(solved),
  }));
  const seeds = new Set(runs.map((each) => each.seed)).size > 1;
  const label = (each) => each.arm + (seeds ? `, seed ${each.seed}` : "") + (each.run ? ` (${each.run})` : "");
  const state = { at: 0, chosen: null };

  data.setups.forEach((name, index) => part("setup").append(made("option", { value: index }, name)));

  function fillArms() {
    const fitting = runs.filter((each) => each.setup === Number(part("setup").value));
    for (const [id, wanted] of [["left", 0], ["right", 1]]) {
      const select = part(id);
      const before = select.selectedOptions[0]?.text;
      select.replaceChildren(...fitting.map((each) => made("option", { value: each.index }, label(each))));
      const again = [...select.options].findIndex((option) => option.text === before);
      select.selectedIndex = again >= 0 ? again : Math.min(wanted, fitting.length - 1);
    }
  }

  const key = (each, place) => `${each.run}|${each.setup}|${each.seed}|${each.arm}|${place}`;
  const verdict = (each, place) => (each.played(place) ? each.solved(place) : null);
  const sign = (value) => (value === null ? "\u00b7" : value ? "\u25cf" : "\u25cb");
  const spoken = (value) => (value === null ? "not played" : value ? "solved" : "not solved");

  function wanted(place, left, right) {
    const [name, tasks] = data.compositions[place];
    const text = part("find").value.trim().toLowerCase();
    if (text && ![name, ...tasks].join(" ").toLowerCase().includes(text)) return false;
    const [one, other] = [verdict(left, place), verdict(right, place)];
    switch (part("show").value) {
      case "gained": return one === false && other === true;
      case "lost": return one === true && other === false;
      case "failed": return one === false && other === false;
      case "solved": return one === true && other === true;
      default: return one !== null || other !== null;
    }
  }

  function button(place, left, right) {
    const [name] = data.compositions[place];
    const [one, other] = [verdict(left, place), verdict(right, place)];
    const held = key(left, place) in data.episodes || key(right, place) in data.episodes;
    const words = `${name}: ${label(left)} ${spoken(one)}, ${label(right)} ${spoken(other)}${held ? ", can be shown" : ""}`;
    const signs = [one, other].map((each) => made("span", { class: each ? "solved" : "unsolved" }, sign(each)));
    const node = made("button", { type: "button", "aria-label": words, "aria-pressed": "false", tabindex: -1 },
      ...signs, ` ${name}`);
    if (held) node.classList.add("held");
    node.dataset.place = place;
    node.addEventListener("click", () => choose(node, left, right));
    return node;
  }

  function fillList() {
    const [left, right] = ["left", "right"].map((id) => runs[Number(part(id).value)]);
    const places = data.compositions.map((_, place) => place).filter((place) => wanted(place, left, right));
    part("list").replaceChildren(...places.map((place) => made("li", {}, button(place, left, right))));
    const both = data.compositions.map((_, place) => place).filter((p) => left.played(p) && right.played(p));
    const gained = both.filter((place) => !left.solved(place) && right.solved(place)).length;
    const lost = both.filter((place) => left.solved(place) && !right.solved(place)).length;
    part("tally").textContent = `${places.length} shown. Of ${both.length} that both arms played, ${label(right)} gains `
      + `${gained} and loses ${lost} against ${label(left)}.`;
    state.at = 0;
    const buttons = part("list").querySelectorAll("button");
    if (buttons.length) buttons[0].tabIndex = 0;
    const again = [...buttons].find((each) => Number(each.dataset.place) === state.chosen);
    if (again) choose(again, left, right);
    else part("timelines").replaceChildren();
  }

  function choose(node, left, right) {
    for (const each of part("list").querySelectorAll("[aria-pressed=true]")) each.setAttribute("aria-pressed", "false");
    node.setAttribute("aria-pressed", "true");
    state.chosen = Number(node.dataset.place);
    const [name, tasks] = data.compositions[state.chosen];
    const shown = left === right ? [left] : [left, right];
    const figures = shown.map((each) => {
      const episode = data.episodes[key(each, state.chosen)];
      const head = `${name}, ${data.setups[each.setup]}, ${label(each)}`;
      if (episode) {
        const figure = timeline(head, episode, tasks, data.tasks);
        figure.querySelector(".note").after(...talkLink(data, key(each, state.chosen)), ...viewLink(data, episode.v));
        return figure;
      }
      return made("div", {}, made("h3", {}, head), made("p", {}, each.played(state.chosen)
        ? "This trajectory is not in the page; the file of episodes has it." : "This arm did not play it."));
    });
    part("timelines").replaceChildren(...figures);
  }

  function move(event) {
    const buttons = [...part("list").querySelectorAll("button")];
    const columns = getComputedStyle(part("list")).gridTemplateColumns.split(" ").length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns,
      Home: -buttons.length, End: buttons.length };
    if (!(event.key in steps) || !buttons.length) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    const next = Math.max(0, Math.min(buttons.length - 1, at + steps[event.key]));
    buttons.forEach((each) => { each.tabIndex = -1; });
    buttons[next].tabIndex = 0;
    buttons[next].focus();
  }

  part("choose").addEventListener("submit", (event) => event.preventDefault());
  part("setup").addEventListener("change", () => { fillArms(); fillList(); });
  for (const id of ["left", "right", "show"]) part(id).addEventListener("change", fillList);
  part("find").addEventListener("input", fillList);
  part("list").addEventListener("keydown", move);
  fillArms();
  fillList();
}

// A question to a string of bits: is the one at this place set?
function bits(text) {
  const octets = atob(text);
  return (place) => Boolean(octets.charCodeAt(place >> 3) & (128 >> (place & 7)));
}
