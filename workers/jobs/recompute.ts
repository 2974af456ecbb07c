import type { Rounds } from '../rounds.ts';
import { stepwiseWorker, type StepwiseOptions } from '../stepwise.ts';

/** Plans, applies and reverts recomputations. */
export const recomputeWorker = (options: StepwiseOptions): Rounds => stepwiseWorker('recomputing', options);
