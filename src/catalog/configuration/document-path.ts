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
 * A stored field as the document calls it: `userAttributes[0].attributeId` → `userAttributes[0].key`. The parts of
 * a composite are listed by key, then by name, then by ID there: `keys` and `names` say how many of them.
 */
export function documentPath(field: string, { keys = 0, names = 0 }: { keys?: number; names?: number } = {}): string {
  const part = /^achievementIds\[(\d+)\]$/.exec(field);
  const at = Number(part?.[1]);
  if (at >= keys + names) return `achievementIds[${at - keys - names}]`;
  if (at >= keys) return `achievementNames[${at - keys}]`;
  return NAMES.reduce((path, [pattern, name]) => path.replace(pattern, name), field);
}
