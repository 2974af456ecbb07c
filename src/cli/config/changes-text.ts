import type { ConfigurationChange } from '../../domain/configuration.ts';

export type Change = ConfigurationChange;

const SIGNS = { create: '+', update: '~', delete: '-' } as const;
const DONE = { create: 'created', update: 'changed', delete: 'archived' } as const;

/** Changes for a person: one line each, below a changed one its fields, and a line that counts them. */
export function changesText(changes: Change[]): string {
  if (changes.length === 0) return 'No differences.\n';
  const lines = changes.flatMap((change) => [`${SIGNS[change.action]} ${nameOf(change)}`, ...fieldLines(change)]);
  const counts = (['create', 'update', 'delete'] as const).flatMap((action) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count} ${DONE[action]}`];
  });
  return `${[...lines, counts.join(', ')].join('\n')}\n`;
}

function nameOf({ kind, name, pointsSystemKey }: Change): string {
  if (kind === 'streaks') return 'streak settings';
  if (kind === 'events') return 'event settings';
  const system = pointsSystemKey === undefined ? '' : ` of points system ${pointsSystemKey}`;
  return `${kind.replace('points_', kind === 'points_system' ? 'points ' : '')} ${name}${system}`;
}

function fieldLines({ fields, before, after }: Change): string[] {
  return (fields ?? []).map((field) => `    ${field}: ${valueText(before?.[field])} → ${valueText(after?.[field])}`);
}

/** A field that is not there has its default. */
const valueText = (value: unknown): string => (value === undefined ? '(none)' : JSON.stringify(value));
