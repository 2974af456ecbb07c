import { epochDay } from '../domain/periods.ts';
import type { Kind } from '../domain/kinds.ts';
import { Slices } from '../pacing/slices.ts';
import type { CatalogDraft } from './draft.ts';
import { tooMuchWork } from './event-work.ts';
import type { Fields, ResourceOf } from './resource-fields.ts';
import { changeProblems, problemsOf } from './rules/rules.ts';
import { problem, type Problem } from './rules/problem.ts';
import { referrersOf } from './rules/references.ts';

export interface Checked<K extends Kind> {
  resource: ResourceOf[K];
  problems: Problem[];
}

export function updateChecked<K extends Kind>(
  draft: CatalogDraft,
  kind: K,
  { before, sent, fields }: { before: ResourceOf[K]; sent: Partial<Fields<K>>; fields: Fields<K> },
): Checked<K> {
  const resource = draft.update(kind, before.id, fields);
  const utcDay = epochDay(draft.nowMs);
  const problems = changeProblems(kind, { before, after: resource, sent, utcDay });
  return { resource, problems: [...problems, ...problemsOf(kind, resource, draft), ...workProblems(draft)] };
}

/** The problem of an edit that makes events too costly. */
export function workProblems(draft: CatalogDraft): Problem[] {
  const tooMuch = tooMuchWork(draft);
  return tooMuch === null ? [] : [problem('status', tooMuch)];
}

const MOST_NAMED = 5;

/** Deletes resources that nothing refers to once the others are deleted. Returns why the rest stay. Runs in slices. */
export async function deleteUnreferred(draft: CatalogDraft, kind: Kind, ids: string[]): Promise<Map<string, string>> {
  const slices = new Slices();
  const undeleted = new Set(ids);
  for (let progress = true; progress;) {
    progress = false;
    for (const id of undeleted) {
      if (slices.over) await slices.turn();
      if (referrersOf(kind, id, draft.catalog).length > 0) continue;
      draft.remove(kind, id);
      undeleted.delete(id);
      progress = true;
    }
  }
  return new Map([...undeleted].map((id) => [id, inUse(referrersOf(kind, id, draft.catalog))]));
}

function inUse(referrers: string[]): string {
  const more = referrers.length > MOST_NAMED ? ` and ${referrers.length - MOST_NAMED} more` : '';
  return `In use by ${referrers.slice(0, MOST_NAMED).join(', ')}${more}: change or delete them first`;
}
