// Conversations, made when they are opened; and the links to them, and to the page of `asyncguard view`.
function startTranscripts(data) {
  const root = document.getElementById("talks");
  Object.entries(data.talks).forEach(([key, { head, messages, view }], number) => {
    const body = made("div", {});
    const details = made("details", { id: `talk${number}` }, made("summary", {}, head), body);
    details.addEventListener("toggle", () => {
      if (!details.open || body.firstChild) return;
      body.append(...viewLink(data, view), ...messages.map(([role, text]) => made("div", { class: `said ${spoken(role, text)}` },
        made("p", { class: "note" }, role), made("pre", {}, text))));
    });
    root.append(details);
    data.talks[key].id = details.id;
  });
}

// Of the words of guards only: an agent that says the same is not marked.
const spoken = (role, text) => (role !== "assistant" && text.includes(" was not run") ? "rejection" : "");

function talkLink(data, key) {
  const talk = data.talks?.[key];
  if (!talk) return [];
  const link = made("a", { href: `#${talk.id}` }, "Read the conversation");
  link.addEventListener("click", () => { document.getElementById(talk.id).open = true; });
  return [made("p", {}, link)];
}

function viewLink(data, id) {
  if (!data.view || !id) return [];
  return [made("p", {}, made("a", { href: `${encodeURIComponent(data.view)}#${encodeURIComponent(id)}` },
    "Call by call, with what the model was told"))];
}
