/** Words that the console, the command line and the API's texts share, so that each reads the same everywhere. */

/** The plural of a noun: `users`, `entries`, `USERS`. */
export function pluralOf(noun: string): string {
  if (noun === noun.toUpperCase()) return `${noun}S`;
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** `1 user`, `2 users`. `shown`: the number as text, where it is formatted. */
export const counted = (count: number, one: string, shown = String(count)): string =>
  `${shown} ${Math.abs(count) === 1 ? one : pluralOf(one)}`;

/** Characters of a value in a list of changes. */
const SHOWN = 200;

/** A value of a change as JSON, shortened: a template can be long. A missing one has its default. */
export function valueText(value: unknown): string {
  if (value === undefined) return '(none)';
  const json = JSON.stringify(value);
  return json.length <= SHOWN ? json : `${json.slice(0, SHOWN)}… (${json.length.toLocaleString('en-US')} characters)`;
}

/** Names what a configuration changes: `metric flips`, `trigger streak of points system xp`, `streak settings`. */
export function changedText(change: {
  kind: string;
  name?: string | null | undefined;
  pointsSystemKey?: string | undefined;
}): string {
  const { kind, name, pointsSystemKey } = change;
  // The settings of streaks, events and messages have no name of their own.
  if (kind === 'streaks' || kind === 'events' || kind === 'messages') return `${kind.slice(0, -1)} settings`;
  const own = name ? ` ${name}` : '';
  if (pointsSystemKey === undefined) return `${kind.replaceAll('_', ' ')}${own}`;
  return `${kind.replace('points_', '')}${own} of points system ${pointsSystemKey}`;
}
