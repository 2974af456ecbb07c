import type { PlanBoard } from './plan.ts';
import type { RunOfPlan } from './teams.ts';
import type { SentMetadata, User } from './user.ts';

/*
 * Metadata of entries: JSON that events send, which leaderboards with `keepsMetadata` show with the entry. Where a score is the value of
 * one event, the entry has the metadata of that event, or none. A score of another kind has that of the last event that sent some and
 * changed the score.
 */

/** A user keeps the metadata of this many events; that of the oldest is dropped. */
const MOST_EVENTS = 32;

/** Notes that an event (`null`: another change) made or changed the user's score in a run. */
export function noteMetadata(
  user: User,
  board: Pick<PlanBoard, 'no' | 'fold' | 'metadata'>,
  { runDay, sent }: { runDay: number; sent: Pick<SentMetadata, 'event' | 'json'> | null },
): void {
  const run = { board: board.no, runDay };
  const isKept = sent !== null && board.metadata === true;
  if (isKept || board.fold !== undefined) dropMetadata(user, (each) => isSame(each, run));
  if (!isKept) return;
  const known = user.metadata.find(({ event }) => event === sent.event);
  if (known !== undefined) known.runs.push(run);
  else user.metadata.push({ ...sent, runs: [run] });
  if (user.metadata.length > MOST_EVENTS) user.metadata.shift();
}

/** The JSON that the user's entry in a run shows; `null` for none. */
export const metadataIn = ({ metadata }: User, run: RunOfPlan): string | null =>
  metadata.find(({ runs }) => runs.some((each) => isSame(each, run)))?.json ?? null;

/** Drops the metadata of entries. */
export function dropMetadata(user: User, isDropped: (run: RunOfPlan) => boolean): void {
  if (user.metadata.length === 0) return;
  user.metadata = user.metadata
    .map((sent) => ({ ...sent, runs: sent.runs.filter((run) => !isDropped(run)) }))
    .filter(({ runs }) => runs.length > 0);
}

/** Drops what an event sent, which is reversed. */
export function dropMetadataOf(user: User, event: string): void {
  if (user.metadata.length > 0) user.metadata = user.metadata.filter((sent) => sent.event !== event);
}

const isSame = (a: RunOfPlan, b: RunOfPlan): boolean => a.board === b.board && a.runDay === b.runDay;
