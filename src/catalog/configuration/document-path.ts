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
 * a composite are listed by key and then by name there: `keys` says how many by key.
 */
export function documentPath(field: string, keys = 0): string {
  const part = /^achievementIds\[(\d+)\]$/.exec(field);
  if (part !== null && Number(part[1]) >= keys) return `achievementNames[${Number(part[1]) - keys}]`;
  return NAMES.reduce((path, [pattern, name]) => path.replace(pattern, name), field);
}
