const NAMES: [RegExp, string][] = [
  [/^metricId$/, 'metricKey'],
  [/\.metricId$/, '.metricKey'],
  [/^achievementId$/, 'achievementKey'],
  [/^achievementIds/, 'achievementKeys'],
  [/^pointsSystemId$/, 'pointsSystemKey'],
  [/\.attributeId$/, '.key'],
  [/\.attributeValue$/, '.value'],
  [/^badgeUrl$/, 'badge.url'],
];

/**
 * Translates a stored field to the document's terms: `userAttributes[0].attributeId` → `userAttributes[0].key`. A composite's parts are listed by
 * key, then by name, then by ID; `keys` and `names` are the numbers of the first two.
 */
export function documentPath(field: string, { keys = 0, names = 0 }: { keys?: number; names?: number } = {}): string {
  const part = /^achievementIds\[(\d+)\]$/.exec(field);
  const at = Number(part?.[1]);
  if (at >= keys + names) return `achievementIds[${at - keys - names}]`;
  if (at >= keys) return `achievementNames[${at - keys}]`;
  return NAMES.reduce((path, [pattern, name]) => path.replace(pattern, name), field);
}
