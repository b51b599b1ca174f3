/** Several runs: one is shown in detail at a time, chosen by tabs. On paper all are. */
import type { Run } from './data.ts';
import { element } from './dom.ts';

export function startRunTabs(runs: Run[], build: (index: number) => void): void {
  if (runs.length < 2) {
    if (runs.length === 1) build(0);
    return;
  }
  const built = new Set<number>();
  const sections = runs.map((_, index) => document.getElementById(`run-${index}`));
  const list = element('div', 'tabs');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Run in detail');
  const tabs = runs.map((run, index) => {
    const tab = element('button', 'tab');
    tab.type = 'button';
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', `run-${index}`);
    tab.append(element('span', `run-dot c${index % 6}`), element('bdi', 'name', run.label));
    tab.addEventListener('click', () => show(index));
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
  const show = (chosen: number) => {
    tabs.forEach((tab, index) => {
      tab.setAttribute('aria-selected', String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      sections[index]?.classList.toggle('aside', index !== chosen);
    });
    if (!built.has(chosen)) {
      built.add(chosen);
      build(chosen);
    }
  };
  sections[0]?.before(list);
  const follow = () => {
    const asked = /^#run-(\d+)$/.exec(location.hash);
    if (asked && Number(asked[1]) < runs.length) show(Number(asked[1]));
  };
  window.addEventListener('hashchange', follow);
  show(0);
  follow();
}
