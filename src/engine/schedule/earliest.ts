import type { DueKind } from './due-kind.ts';

/** What a kind answers when it is asked what is due. */
export interface Answer {
  kind: DueKind;
  dueMs: number;
}

/** What is due first; until `beforeMs` no other kind has anything to do. */
export interface Due {
  kind: DueKind;
  dueMs: number;
  beforeMs: number;
}

/** What comes first of what is due up to a time, epoch ms; at the same time the first of the list. Null: nothing is due. */
export function earliest(answers: readonly Answer[], upToMs: number): Due | null {
  const [first, ...others] = answers.toSorted((a, b) => a.dueMs - b.dueMs);
  if (first === undefined) return null;
  const second = others.find(({ kind }) => first.kind.work.apartFrom?.includes(kind.work.name) !== true);
  const beforeMs = Math.max(first.dueMs + 1, Math.min(second?.dueMs ?? Infinity, upToMs + 1));
  return { ...first, beforeMs };
}
