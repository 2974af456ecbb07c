import { stepwiseWorker, type StepwiseOptions } from '../stepwise.ts';

/** Completes achievements that were switched on or edited for the users who qualify already. */
export const backdateWorker = (options: StepwiseOptions): ReturnType<typeof stepwiseWorker> =>
  stepwiseWorker({ name: 'backdate', what: 'backdating' }, options);
