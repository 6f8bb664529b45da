(() => {
  const form = document.getElementById("filter");
  const rows = [...document.querySelectorAll("details.statement")];
  const papers = [...document.querySelectorAll("section.paper")];
  const show = () => {
    const { paper, outcome, grade, words } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.id} ${row.querySelector(".title").textContent} ${row.querySelector(".readings").textContent}`;
      const fits = (!paper || row.dataset.paper === paper) && (!grade || row.dataset.grade === grade)
        && (!outcome || row.dataset.outcomes.split("|").includes(outcome))
        && wanted.every((word) => text.toLowerCase().includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    for (const section of papers) section.hidden = !section.querySelector("details.statement:not([hidden])");
    const printed = paper || outcome || grade || wanted.length ? ", which a print has in full" : "";
    form.querySelector("output").textContent = `${shown} of ${rows.length} statements${printed}`;
  };
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const row = target.closest("details.statement");
    if (row && row.hidden) { form.reset(); show(); }
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  // All of it is hundreds of pages. Printed in full is what was chosen or opened; without a choice, what is refuted too.
  const refuted = "details.statement[data-grade=refuted]:not([open])";
  const shown = "details.statement:not([hidden]):not([open])";
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    const chosen = [...new FormData(form).values()].some(Boolean);
    document.body.classList.toggle("chosen", chosen);
    const errata = "section.paper:not([hidden]) > details.plain:not([open])";
    unfolded = [...document.querySelectorAll(`${chosen ? shown : refuted}, .grades:not([open]), ${errata}`)];
    for (const fold of unfolded) {
      fold.open = true;
      fold.classList.toggle("brief", !chosen);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
    for (const fold of unfolded) fold.classList.remove("brief");
  });
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", open);
  show();
  open();
})();
