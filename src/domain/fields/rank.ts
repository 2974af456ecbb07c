import { Type } from 'typebox';
import { Uuid } from '../schemas.ts';
import { field, only, type When } from './field.ts';

const OF_RANKS: When = { field: 'leaderboardId', is: [], called: 'rewards of a final rank' };

const Rank = Type.Integer({ minimum: 1 });

/** The ranks of a leaderboard's final runs that a trigger or an achievement rewards. `when`: which ones may. */
export const rankFields = <W extends When>(when: W) =>
  ({
    leaderboardId: field(Uuid, {
      label: 'Or final ranks on the leaderboard',
      description: 'The leaderboard whose final ranks are rewarded: once per user and run, when the run is final.',
      default: null,
      clearable: true,
      ifUnset: 'omitted',
      when,
      addition: true,
      refersTo: 'leaderboard',
    }),
    rankFrom: field(Rank, {
      label: 'From rank',
      description: 'The best rank that is rewarded; without it, 1.',
      example: 1,
      default: null,
      clearable: true,
      ifUnset: 'omitted',
      when: OF_RANKS,
      addition: true,
      form: { hint: 'Empty: from rank 1' },
    }),
    rankTo: field(Rank, {
      label: 'To rank',
      description: 'The last rank that is rewarded. Either `rankTo` or `rankPercent` is required.',
      example: 3,
      default: null,
      clearable: true,
      ifUnset: 'omitted',
      when: OF_RANKS,
      addition: true,
      form: { hint: 'Empty: by percent' },
    }),
    rankPercent: field(Type.Number({ exclusiveMinimum: 0, maximum: 100 }), {
      label: 'Or to the best percent',
      description: 'The share of the users on the leaderboard that is rewarded, in percent, rounded up to whole users.',
      example: 10,
      default: null,
      clearable: true,
      ifUnset: 'omitted',
      when: OF_RANKS,
      addition: true,
    }),
  }) as const;

/** The fields of achievements for final ranks. */
export const ACHIEVEMENT_RANKS = rankFields(only('trigger', 'api'));

/** The ranks of a final run that a rule rewards. */
export interface RankBand {
  rankFrom: number | null;
  rankTo: number | null;
  rankPercent: number | null;
}

/** The first and the last rank of a band among some users on a leaderboard. */
export function ranksOf(
  { rankFrom, rankTo, rankPercent }: RankBand,
  participants: number,
): { first: number; last: number } {
  // Percents have at most 15 digits: 14 % of 50 are 7, not 7.000000000000001.
  const share = Math.ceil(Number(((participants * (rankPercent ?? 0)) / 100).toPrecision(12)));
  return { first: rankFrom ?? 1, last: rankTo ?? share };
}
