/** Copy buttons: they copy the code beside them. */

function startCopy() {
  for (const button of all('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const code = button.closest('.snippet, .command')?.querySelector('code');
      const done = await copyText(code?.textContent ?? '');
      button.textContent = done ? 'Copied' : 'Press Ctrl+C';
      announce(button.textContent);
      if (!done && code) getSelection()?.selectAllChildren(code);
      setTimeout(() => { button.textContent = 'Copy'; }, 1_800);
    });
  }
}

/** @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed here; the text is selected instead.
    return false;
  }
}
