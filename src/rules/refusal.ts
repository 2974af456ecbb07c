import type { StreakRefusal } from '../packed/record.ts';

/** Why a change of a user is refused; `REFUSAL` describes the kinds. Nothing of it may be kept: the user must be decoded again. */
export type Refusal =
  /** The balance before the event's awards does not cover a trigger that blocks. */
  | { refusal: 'outOfPoints'; trigger: number }
  /** A sum would leave its range. `no`: its achievement, trigger or leaderboard. */
  | { refusal: 'outOfRange'; metric: number; sum: 'total' | 'count' | 'period' | 'score'; no?: number }
  | { refusal: 'tooManyKeys'; waitMs: number }
  /** `no`: the attribute, or 0 for the sign-up date. */
  | { refusal: 'serverOnly'; no: number }
  /** `missing`: the achievements that the user has not completed. */
  | { refusal: 'required'; missing: number[] }
  /** A late event's replay is based on another state, or on another value than the guards allow. */
  | { refusal: 'outdated'; whole?: number; micros?: number }
  | { refusal: 'insufficient'; balance: number }
  /** `day`: the user's local day. */
  | { refusal: 'unchanged'; why: StreakRefusal; day: number }
  | { refusal: 'tooLarge' | 'profileTooLarge' | 'futureSignUp' | 'noAddress' | 'locked' | 'unmetConditions' }
  | { refusal: 'notQuarantined' | 'held' | 'manyHolds' | 'notHeld' };

export const isRefusal = (result: object): result is Refusal => 'refusal' in result;
