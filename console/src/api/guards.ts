import type { AdminRead } from './queries.ts';

export type GuardName = AdminRead<'/v1/quarantine'>['events'][number]['guard'];
export type GuardAction = 'refuse' | 'clamp' | 'quarantine';

/** Names of the guards, in the order in which they check an event. */
export const GUARDS: Readonly<Record<GuardName, string>> = {
  minValue: 'smallest value',
  maxValue: 'largest value',
  minSecondsBetween: 'shortest time between events',
  maxSumPerHour: 'largest sum per hour',
  maxSumPerDay: 'largest sum per day',
  maxTotal: 'largest total',
};

export const GUARD_ACTIONS: Readonly<Record<GuardAction, string>> = {
  refuse: 'refuse the event',
  clamp: 'reduce the value',
  quarantine: 'quarantine the event',
};

export const GUARD_NAMES = Object.keys(GUARDS) as readonly GuardName[];

/** The actions of a guard. An interval between events cannot be clamped. */
export const actionsOf = (guard: GuardName): GuardAction[] =>
  guard === 'minSecondsBetween' ? ['refuse', 'quarantine'] : ['refuse', 'clamp', 'quarantine'];
