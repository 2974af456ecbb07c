import type { AdminRead } from './queries.ts';

export type GuardName = AdminRead<'/v1/quarantine'>['events'][number]['guard'];
export type GuardAction = 'refuse' | 'clamp' | 'quarantine';

/** Guards as people call them, in the order in which an event meets them. */
export const GUARDS: Readonly<Record<GuardName, string>> = {
  minValue: 'smallest value',
  maxValue: 'largest value',
  minSecondsBetween: 'shortest time between events',
  maxSumPerHour: 'largest sum of an hour',
  maxSumPerDay: 'largest sum of a day',
  maxTotal: 'largest total',
};

export const GUARD_ACTIONS: Readonly<Record<GuardAction, string>> = {
  refuse: 'refuse it',
  clamp: 'cut the value',
  quarantine: 'quarantine it',
};

export const GUARD_NAMES = Object.keys(GUARDS) as readonly GuardName[];

/** What a guard can do: nothing brings an event nearer to an interval. */
export const actionsOf = (guard: GuardName): GuardAction[] =>
  guard === 'minSecondsBetween' ? ['refuse', 'quarantine'] : ['refuse', 'clamp', 'quarantine'];
