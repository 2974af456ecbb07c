import { type Static, Type } from 'typebox';
import { BoardStatus } from './leaderboard.ts';
import { Badge, LocalDate, Nullable, ResourceName, WholeNumber } from './schemas.ts';

/** Smallest and largest cohort. A read ranks a whole cohort. */
export const COHORT_USERS = { least: 10, most: 200 } as const;

export const MOST_TIERS = 50;

const TIER_BADGE = 'Badge of the tier; null or absent: it has none.';
const TIER_NUMBER = 'Number of the tier; 1 is the lowest.';

const TierFields = Type.Object(
  { name: ResourceName, badge: Type.Optional({ ...Badge, description: TIER_BADGE }) },
  { additionalProperties: false },
);

/** A leaderboard's leagues. The first tier is the lowest. */
export const Leagues = Type.Object(
  {
    tiers: Type.Array(TierFields, { description: 'The tiers, 2 to 50, lowest first.' }),
    cohortUsers: Type.Integer({ description: 'The most users of a cohort: 10 to 200.', examples: [30] }),
    promoted: Type.Integer({ description: 'How many of a cohort move up at the end of a run.', examples: [7] }),
    demoted: Type.Integer({ description: 'How many of a cohort move down at the end of a run.', examples: [5] }),
    inactive: Type.Optional(
      Type.Enum(['stay', 'fall'], {
        description: 'Whether users without a score in the run `stay` in their tier (default) or `fall` by one.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Leagues = Static<typeof Leagues>;

export const LeagueTier = Type.Object({
  number: Type.Integer({ description: TIER_NUMBER }),
  name: Type.String({ description: 'Name of the tier.' }),
  badge: Nullable(Badge, { description: TIER_BADGE }),
});
export type LeagueTier = Static<typeof LeagueTier>;

export const LEAGUE_MOVES = ['up', 'stay', 'down'] as const;
const LeagueMove = Type.Enum([...LEAGUE_MOVES], {
  description: 'How the user would move if the run ended now; of a closed run: how the user moved.',
});
export type LeagueMove = Static<typeof LeagueMove>;

/** The tier with a number from 0; the highest one if the leaderboard has fewer now. */
export function tierOf({ tiers }: Leagues, number: number): LeagueTier {
  const at = Math.min(number, tiers.length - 1);
  const { name, badge = null } = tiers[at]!;
  return { number: at + 1, name, badge };
}

const LeagueRanking = Type.Object({
  userId: Type.String(),
  userName: Nullable(Type.String()),
  rank: Type.Integer(),
  // Decimal if the metric is.
  value: WholeNumber(),
  // On leaderboards that have one; absent for entries without.
  secondaryScore: Type.Optional(Type.Number()),
  move: LeagueMove,
});

/** A user's league in a run of a leaderboard. */
export const UserLeague = Type.Object({
  leaderboardKey: Type.String(),
  status: BoardStatus,
  run: Type.Object(
    {
      start: { ...LocalDate, description: 'First day of the run.' },
      end: { ...LocalDate, description: 'Last day of the run.' },
      endsAt: Type.String({ format: 'date-time', description: 'When the user’s last day of the run ends.' }),
      secondsLeft: Type.Integer({ description: 'Seconds until `endsAt`; 0 after it.' }),
      finalAt: Type.String({ format: 'date-time', description: 'When ranks are final, and users move.' }),
      isClosed: Type.Boolean({ description: 'Whether all users have moved.' }),
    },
    { description: 'The run, and the time left.' },
  ),
  tier: { ...LeagueTier, description: 'The tier in which the user is in this run.' },
  tiers: Type.Integer({ description: 'How many tiers there are.' }),
  rank: Nullable(Type.Integer(), { description: 'The user’s rank in the cohort; null: no score, or no cohort.' }),
  value: Nullable(WholeNumber(), { description: 'The user’s score in the run; null: none.' }),
  // Only on leaderboards that have one.
  secondaryScore: Type.Optional(Nullable(Type.Number())),
  move: LeagueMove,
  cohort: Nullable(
    Type.Object({
      users: Type.Integer({ description: 'How many users of the cohort have a score.' }),
      rankings: Type.Array(LeagueRanking, { description: 'These users, best first.' }),
    }),
    { description: 'The user’s cohort; null: none yet.' },
  ),
});
export type UserLeague = Static<typeof UserLeague>;

/** The cohorts of a leaderboard in a run. */
export const LeagueCohorts = Type.Object({
  run: { ...LocalDate, description: 'First day of the run.' },
  cohorts: Type.Array(
    Type.Object({
      id: Type.Integer({ description: 'ID of the cohort.' }),
      tier: { ...LeagueTier, description: 'The tier of its users.' },
      users: Type.Integer({ description: 'Users who entered the cohort, including those who were deleted since.' }),
      userAttributes: Type.Record(Type.String(), Type.String(), {
        description: 'The values that the users had in common when they entered, by the key of the attribute.',
      }),
    }),
    { description: 'The cohorts, in the order in which they were created.' },
  ),
});
export type LeagueCohorts = Static<typeof LeagueCohorts>;

/** How many users and cohorts each tier of a leaderboard has in a run. */
export const LeagueOverview = Type.Object({
  run: { ...LocalDate, description: 'First day of the run.' },
  waiting: Type.Integer({ description: 'Users with a score and without a cohort, until the run before is closed.' }),
  tiers: Type.Array(
    Type.Object({
      ...LeagueTier.properties,
      users: Type.Integer({ description: 'Users in cohorts of the tier.' }),
      cohorts: Type.Integer({ description: 'Cohorts of the tier.' }),
    }),
    { description: 'The tiers, lowest first.' },
  ),
});
export type LeagueOverview = Static<typeof LeagueOverview>;
