/** Light and dark: follows the system until the reader chooses. Canvases read their colours from here. */

const KEY = 'jobmeter-theme';
const listeners: (() => void)[] = [];
let cache = new Map<string, string>();

/** The colour of a CSS variable, such as `c0` or `text`. */
export function color(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, value);
  }
  return value;
}

export function roleColor(role: string): string {
  return color(role === 'bound' ? 'c0' : role === 'system' ? 'system' : `c${role}`);
}

/** A `#rrggbb` colour made translucent. */
export function faded(hex: string, alpha: number): string {
  const value = Number.parseInt(hex.slice(1), 16);
  return `rgba(${value >> 16}, ${(value >> 8) & 255}, ${value & 255}, ${alpha})`;
}

export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

function apply(theme: string | null): void {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  cache = new Map();
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // Pages opened from a file may have no storage; the choice then lasts as long as the page.
  }
  if (chosen !== 'light' && chosen !== 'dark') chosen = null;
  apply(chosen);
  dark.addEventListener('change', () => apply(chosen));
  document.getElementById('theme')?.addEventListener('click', () => {
    chosen = (chosen ?? (dark.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // As above.
    }
    apply(chosen);
  });
  // Paper is white.
  window.addEventListener('beforeprint', () => apply('light'));
  window.addEventListener('afterprint', () => apply(chosen));
}
