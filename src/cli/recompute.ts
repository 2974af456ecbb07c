import type { Command } from 'commander';
import { addList } from './recompute/list.ts';
import { addShow } from './recompute/show.ts';
import { addStart } from './recompute/start.ts';
import { addSteps } from './recompute/steps.ts';

/** Adds `laurel recompute …`. */
export function addRecompute(laurel: Command): void {
  const recompute = laurel
    .command('recompute')
    .description('What users would have by the rules of now: planned, shown, applied, taken back');
  for (const add of [addStart, addList, addShow, addSteps]) add(recompute);
}
