// Arrow keys on the gap map: the cells are one stop of the Tab key, and the arrows go from cell to cell. Without this
// script each cell is a stop.
"use strict";

(() => {
  const cells = () => [...document.querySelectorAll("[data-roving] a.cell")];
  let last = null; // the id of the cell that was focused last
  let open = false; // whether the figures are shown

  const rove = () => {
    const all = cells();
    const stop = all.find((cell) => cell.id === last) || all[0];
    for (const cell of all) cell.tabIndex = cell === stop ? 0 : -1;
  };

  // the nearest cell above or below
  const beside = (from, down) => {
    const at = from.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const cell of cells()) {
      const to = cell.getBoundingClientRect();
      const away = down ? to.top - at.top : at.top - to.top;
      if (away < 4) continue;
      const distance = away * 100 + Math.abs(to.left - at.left);
      if (distance < least) [best, least] = [cell, distance];
    }
    return best;
  };

  const step = (key, from) => {
    const all = cells();
    const at = all.indexOf(from);
    switch (key) {
      case "ArrowLeft": return all[at - 1];
      case "ArrowRight": return all[at + 1];
      case "ArrowUp": return beside(from, false);
      case "ArrowDown": return beside(from, true);
      case "Home": return all[0];
      case "End": return all[all.length - 1];
    }
    return null;
  };

  document.addEventListener("keydown", (event) => {
    const from = event.target.closest("[data-roving] a.cell");
    if (!from || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = step(event.key, from);
    if (!to) return;
    event.preventDefault();
    to.focus();
  });

  document.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-roving] a.cell");
    if (!cell) return;
    last = cell.id;
    rove();
  });

  // A map that was drawn anew goes on where it was.
  document.addEventListener("toggle", (event) => {
    if (event.target.id === "figures") open = event.target.open;
  }, true);
  document.addEventListener("htmx:afterSettle", () => {
    const figures = document.getElementById("figures");
    if (figures) figures.open = open;
    rove();
  });

  last = location.hash.slice(1);
  rove();
})();
