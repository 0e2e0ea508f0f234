// Chapters that show one setup at a time. Choosing a setup in one of them chooses it wherever else it stands.
function startPanels(stored) {
  const all = [...document.querySelectorAll(".panels")].map((root) => {
    const select = root.querySelector("select");
    const panel = root.querySelector(".panel");
    return { select, panel, first: panel.innerHTML };
  });
  const show = (one, index) => {
    one.select.selectedIndex = index;
    const key = one.select.options[index].value;
    // Made and escaped where the page was made: nothing in it comes from anywhere else.
    one.panel.innerHTML = index ? stored[key] : one.first;
  };
  for (const one of all) {
    one.select.addEventListener("change", () => {
      const name = one.select.options[one.select.selectedIndex].text;
      for (const other of all) {
        const index = [...other.select.options].findIndex((option) => option.text === name);
        if (index >= 0) show(other, index);
      }
    });
  }
}
