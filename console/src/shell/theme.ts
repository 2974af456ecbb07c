const STORED = 'laurel.theme';

export type Theme = 'light' | 'dark' | 'system';

export const storedTheme = (): Theme => (localStorage.getItem(STORED) as Theme | null) ?? 'system';

/** Applies the theme that was chosen in this browser, or chooses another. */
export function applyTheme(chosen?: Theme): void {
  if (chosen !== undefined) localStorage.setItem(STORED, chosen);
  const theme = storedTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
