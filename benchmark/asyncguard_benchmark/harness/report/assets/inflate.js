// The data of the page: deflated JSON in base64, which every current browser unpacks by itself.
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function drawn(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Text that was cut off for the page ends in an ellipsis already.
const DASH = "\u2013";

document.addEventListener("DOMContentLoaded", async () => {
  const text = document.getElementById("data").textContent;
  if (!text) return;
  const data = await inflated(text);
  startPanels(data.panels);
  if (document.getElementById("talks")) startTranscripts(data);
  if (document.getElementById("compositions")) startExplorer(data);
  document.documentElement.dataset.ready = "yes";
});
