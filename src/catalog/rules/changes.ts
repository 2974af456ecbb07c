import { isDeepStrictEqual } from 'node:util';
import { boardStatus } from '../../domain/runs.ts';
import type { Kind } from '../../domain/kinds.ts';
import type { Fields, ResourceOf } from '../resource-fields.ts';
import { SCORING } from '../scoring.ts';
import { problem, type Problem } from './problem.ts';

interface Edit<K extends Kind> {
  before: ResourceOf[K];
  after: ResourceOf[K];
  /** The fields in the request. */
  sent: Partial<Fields<K>>;
  /** Today, epoch day. */
  utcDay: number;
}

function* achievementChanges({ before, after }: Edit<'achievement'>): Generator<Problem> {
  if (before.key !== null && after.key !== before.key) yield problem('key', `cannot be changed: it is '${before.key}'`);
  if (before.trigger !== after.trigger && before.status !== 'inactive' && after.status !== 'inactive') {
    yield problem('trigger', `can be changed only while the achievement is inactive: set status 'inactive' first`);
  }
}

function* triggerChanges({ before, after }: Edit<'points_trigger'>): Generator<Problem> {
  if (before.type !== after.type && before.status === 'active' && after.status === 'active') {
    yield problem('type', `can be changed only while the trigger is inactive: set status 'inactive' first`);
  }
}

function* boardChanges({ before, after, sent, utcDay }: Edit<'leaderboard'>): Generator<Problem> {
  const was = boardStatus(before, utcDay);
  if (was === 'finished') {
    // The clock may have finished it, regardless of the stored status.
    if (sent.status !== undefined && sent.status !== 'finished')
      yield problem('status', `cannot become '${sent.status}': the leaderboard is finished; create another one`);
    if (after.end !== before.end) yield problem('end', 'cannot be changed: the leaderboard is finished');
  }
  if (was === null || after.status === 'inactive') return;
  for (const field of SCORING) {
    if (isDeepStrictEqual(before[field], after[field])) continue;
    const how = was === 'finished' ? 'it is finished' : `set status 'inactive' first`;
    yield problem(field, `can be changed only while the leaderboard is inactive: ${how}`);
  }
}

type Rules = { [K in Kind]?: (edit: Edit<K>) => Iterable<Problem> };

const RULES: Rules = { achievement: achievementChanges, points_trigger: triggerChanges, leaderboard: boardChanges };

/** Problems of a change itself, regardless of the resulting resource. */
export const changeProblems = <K extends Kind>(kind: K, edit: Edit<K>): Problem[] => [
  ...((RULES as { [X in K]?: Rules[X] })[kind]?.(edit) ?? []),
];
