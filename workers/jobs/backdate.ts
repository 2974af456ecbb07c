import type { Rounds } from '../rounds.ts';
import { stepwiseWorker, type StepwiseOptions } from '../stepwise.ts';

/** Completes achievements that were switched on or edited for the users who qualify already. */
export const backdateWorker = (options: StepwiseOptions): Rounds => stepwiseWorker('backdating', options);
