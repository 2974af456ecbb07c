import { NothingDone } from '../../../engine/streaks/streak-admin.ts';
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
