/** Several runs: one is shown in detail at a time, chosen by tabs. On paper all are. */

/**
 * @param {Run[]} runs
 * @param {(index: number) => void} build
 * @returns {() => void} builds the runs that have not been looked at
 */
function startRunTabs(runs, build) {
  /** @type {Set<number>} */
  const built = new Set();
  /** @param {number} index */
  const need = (index) => {
    if (built.has(index)) return;
    built.add(index);
    build(index);
  };
  const complete = () => runs.forEach((_, index) => need(index));
  if (runs.length < 2) {
    complete();
    return complete;
  }
  const sections = runs.map((_, index) => document.getElementById(`run-${index}`));
  const list = element('div', 'tabs');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Run in detail');
  const tabs = runs.map((run, index) => {
    const tab = pushButton('tab', '', () => show(index));
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', `run-${index}`);
    tab.append(element('span', `run-dot c${run.group % 6}`), element('bdi', 'name', run.note ? `${run.label} ${run.note}` : run.label));
    tab.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (step === 0) return;
      const next = (index + step + runs.length) % runs.length;
      show(next);
      tabs[next].focus();
    });
    list.append(tab);
    return tab;
  });
  /** @param {number} chosen */
  const show = (chosen) => {
    tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      sections[index]?.classList.toggle('aside', index !== chosen);
    });
    need(chosen);
  };
  sections[0]?.before(list);
  const follow = () => {
    const asked = /^#run-(\d+)$/.exec(location.hash);
    if (asked && Number(asked[1]) < runs.length) show(Number(asked[1]));
  };
  window.addEventListener('hashchange', follow);
  show(0);
  follow();
  return complete;
}
