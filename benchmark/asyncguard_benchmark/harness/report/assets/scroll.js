// Marks the boxes that are wider than the screen: their border and a line above them say that they scroll sideways.
function markClipped() {
  for (const box of document.querySelectorAll(".wide")) box.classList.toggle("clips", box.scrollWidth > box.clientWidth + 1);
}

for (const kind of ["resize", "toggle", "change", "click"]) {
  addEventListener(kind, () => requestAnimationFrame(markClipped), true);
}
document.addEventListener("DOMContentLoaded", markClipped);
