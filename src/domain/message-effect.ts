/** Whether users return more often because they get messages: what the figures of an analysis say. Pure. */
import { shareDifference } from './analytics.ts';

/** A user returned within this many days with an event in so many times 24 hours after the occasion. */
export const EFFECT_DAYS: readonly number[] = [1, 3, 7];

/** Below this, the interval holds, but a few users decide about it. */
export const FEWEST_USERS = 50;

export const EFFECT_VERDICTS = ['too_few', 'unclear', 'more', 'fewer'] as const;
export type EffectVerdict = (typeof EFFECT_VERDICTS)[number];

interface Group {
  users: number;
  returned: number;
}

export interface Effect {
  /** Share of the users who could get the message and returned, minus that of the control group; `null` without users in both. */
  difference: number | null;
  low: number | null;
  high: number | null;
  verdict: EffectVerdict;
  /** A sentence in English. */
  conclusion: string;
}

const NOTHING = { difference: null, low: null, high: null };

const points = (share: number): string => {
  const shown = Math.abs(share * 100).toFixed(1);
  return `${shown} percentage ${shown === '1.0' ? 'point' : 'points'}`;
};
const signed = (share: number): string => `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)}`;

/** Compares those who could get a message with the control group, with Newcombe's interval. */
export function effectOf(due: Group, control: Group): Effect {
  const difference =
    shareDifference({ count: due.returned, of: due.users }, { count: control.returned, of: control.users }) ?? NOTHING;
  return { ...difference, ...judged(difference, due.users, control.users) };
}

function judged(
  { difference, low, high }: Pick<Effect, 'difference' | 'low' | 'high'>,
  users: number,
  controlUsers: number,
): Pick<Effect, 'verdict' | 'conclusion'> {
  if (difference === null || low === null || high === null || Math.min(users, controlUsers) < FEWEST_USERS) {
    const [name, count] = controlUsers <= users ? ['the control group', controlUsers] : ['the other group', users];
    const many = `${count} ${count === 1 ? 'user' : 'users'}`;
    return {
      verdict: 'too_few',
      conclusion: `The numbers are too small to compare: ${name} has ${many} so far, and ${FEWEST_USERS} are needed.`,
    };
  }
  const interval = `95 % confidence interval ${signed(low)} to ${signed(high)}`;
  if (low > 0 || high < 0) {
    const [verdict, often] = low > 0 ? (['more', 'more'] as const) : (['fewer', 'less'] as const);
    return {
      verdict,
      conclusion: `Users with the message returned ${often} often, by ${points(difference)} (${interval}).`,
    };
  }
  return {
    verdict: 'unclear',
    conclusion: `The difference of ${signed(difference)} percentage points may be chance (${interval}): the numbers are too small to show a smaller effect than about ${points((high - low) / 2)}.`,
  };
}
