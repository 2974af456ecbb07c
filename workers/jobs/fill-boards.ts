import { stepwiseWorker, type StepwiseOptions } from '../stepwise.ts';

/** Fills the leaderboards that were switched on. */
export const fillWorker = (options: StepwiseOptions): ReturnType<typeof stepwiseWorker> =>
  stepwiseWorker({ name: 'fill-boards', what: 'filling a leaderboard' }, options);
