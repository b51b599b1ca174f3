// Search without a server: every word must occur in a section; hits in the heading come first.
"use strict";
(() => {
  const root = document.body.dataset.root;
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const pages = document.getElementById("pages");
  const sections = window.searchIndex.map((section) => ({
    ...section,
    low: (section.title + " " + section.text).toLowerCase(),
    lowTitle: section.title.toLowerCase(),
  }));

  function excerpt(text, word) {
    const at = text.toLowerCase().indexOf(word);
    const from = Math.max(0, at - 40);
    return (from > 0 ? "…" : "") + text.slice(from, from + 120) + "…";
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = words.length === 0;
    pages.hidden = words.length > 0;
    const hits = words.length === 0 ? [] : sections.filter((section) => words.every((word) => section.low.includes(word)));
    const weight = (section) => words.filter((word) => section.lowTitle.includes(word)).length;
    hits.sort((left, right) => weight(right) - weight(left));
    found.replaceChildren(...hits.slice(0, 30).map((hit) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const text = document.createElement("span");
      link.href = root + hit.address;
      link.textContent = hit.title;
      text.textContent = excerpt(hit.text, words[0]);
      item.append(link, text);
      return item;
    }));
    if (words.length > 0 && hits.length === 0) {
      const item = document.createElement("li");
      item.textContent = "Nothing has all of these words.";
      found.append(item);
    }
  }

  input.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      input.value = "";
      show();
    } else if (event.key === "Enter" && document.activeElement === input) {
      found.querySelector("a")?.click();
    }
  });
})();
