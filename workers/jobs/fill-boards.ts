import type { Rounds } from '../rounds.ts';
import { stepwiseWorker, type StepwiseOptions } from '../stepwise.ts';

/** Fills the leaderboards that were switched on. */
export const fillWorker = (options: StepwiseOptions): Rounds => stepwiseWorker('filling a leaderboard', options);
