import type { StreakRefusal } from '../packed/record.ts';

/** Why a change of a user is refused. Nothing of it may be kept: the user must be decoded again. */
export type Refusal =
  /** The balance before the event's awards does not cover a trigger that blocks. */
  | { refusal: 'outOfPoints'; trigger: number }
  /** A sum would leave its range. `no`: its achievement, trigger or leaderboard. */
  | { refusal: 'outOfRange'; metric: number; sum: 'total' | 'count' | 'period' | 'score'; no?: number }
  | { refusal: 'tooManyKeys'; waitMs: number }
  | { refusal: 'tooLarge' | 'profileTooLarge' }
  /** An application key would change a field that only servers may write: an attribute, or with 0 the sign-up date. */
  | { refusal: 'serverOnly'; no: number }
  /** `signUpDate` is after the user's current day. */
  | { refusal: 'futureSignUp' }
  /** `subscribeToEmails: true` for a user without an email address. */
  | { refusal: 'noAddress' }
  | { refusal: 'locked' | 'unmetConditions' }
  /** The user has not completed these achievements. */
  | { refusal: 'required'; missing: number[] }
  /** A late event's replay is based on another state, or on another value than the guards allow. */
  | { refusal: 'outdated'; whole?: number; micros?: number }
  | { refusal: 'notQuarantined' }
  /** The user is being merged. */
  | { refusal: 'held' }
  /** The balance does not cover what should be spent or held. */
  | { refusal: 'insufficient'; balance: number }
  /** The user has `HOLD.most` open holds in the points system. */
  | { refusal: 'manyHolds' }
  /** The hold was captured or released, or has expired; or the user made no such spending. */
  | { refusal: 'notHeld' }
  /** The streak cannot be changed. `day`: the user's local day. */
  | { refusal: 'unchanged'; why: StreakRefusal; day: number };

export const isRefusal = (result: object): result is Refusal => 'refusal' in result;
