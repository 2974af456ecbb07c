import { NothingDone } from '../../../engine/streaks/streak-admin.ts';
import type { AdminIssue } from '../../../domain/admin.ts';
import { Warning } from '../../bulk.ts';

/** Works on the items of a bulk call one after another; what is no mistake becomes a warning. */
export async function oneByOne<Item, Done extends object>(
  items: readonly Item[],
  work: (item: Item) => Promise<Done | string | NothingDone>,
): Promise<(Done | string | Warning)[]> {
  const outcomes: (Done | string | Warning)[] = [];
  for (const item of items) outcomes.push(toOutcome(await work(item)));
  return outcomes;
}

export const toOutcome = <Done extends object>(outcome: Done | string | NothingDone): Done | string | Warning =>
  outcome instanceof NothingDone ? new Warning(outcome.reason) : outcome;

/** An issue of items that are users: what names an item is a user's ID. */
export const byUserId = ({ id, ...issue }: AdminIssue): AdminIssue =>
  id === undefined ? issue : { userId: id, ...issue };
