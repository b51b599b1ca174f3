/** Copy buttons: they copy the code beside them. */
import { all, announce } from './dom.ts';

export function startCopy(): void {
  for (const button of all<HTMLButtonElement>('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const code = button.closest('.snippet, .command')?.querySelector('code');
      const done = await copy(code?.textContent ?? '');
      button.textContent = done ? 'Copied' : 'Press Ctrl+C';
      announce(button.textContent);
      if (!done && code) getSelection()?.selectAllChildren(code);
      setTimeout(() => { button.textContent = 'Copy'; }, 1_800);
    });
  }
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed here; the text is selected instead.
    return false;
  }
}
