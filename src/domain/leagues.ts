import { type Static, Type } from 'typebox';
import { BoardStatus } from './leaderboard.ts';
import { Badge, LocalDate, Nullable, ResourceName, WholeNumber } from './schemas.ts';

/** Smallest and largest cohort. A read ranks a whole cohort. */
export const COHORT_USERS = { least: 10, most: 200 } as const;

export const MOST_TIERS = 50;

const TierFields = Type.Object({ name: ResourceName, badge: Type.Optional(Badge) }, { additionalProperties: false });

/** A leaderboard's leagues. The first tier is the lowest. */
export const Leagues = Type.Object(
  {
    tiers: Type.Array(TierFields),
    cohortUsers: Type.Integer(),
    promoted: Type.Integer(),
    demoted: Type.Integer(),
    inactive: Type.Optional(Type.Enum(['stay', 'fall'])),
  },
  { additionalProperties: false },
);
export type Leagues = Static<typeof Leagues>;

export const LeagueTier = Type.Object({
  /** 1 is the lowest tier. */
  number: Type.Integer(),
  name: Type.String(),
  badge: Nullable(Badge),
});
export type LeagueTier = Static<typeof LeagueTier>;

export const LEAGUE_MOVES = ['up', 'stay', 'down'] as const;
const LeagueMove = Type.Enum([...LEAGUE_MOVES]);
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
  move: LeagueMove,
});

/** A user's league in a run of a leaderboard. */
export const UserLeague = Type.Object({
  leaderboardKey: Type.String(),
  status: BoardStatus,
  run: Type.Object({
    start: LocalDate,
    end: LocalDate,
    /** When the user's last day of the run ends. */
    endsAt: Type.String({ format: 'date-time' }),
    secondsLeft: Type.Integer(),
    /** When ranks are final and users move. */
    finalAt: Type.String({ format: 'date-time' }),
    isClosed: Type.Boolean(),
  }),
  tier: LeagueTier,
  tiers: Type.Integer(),
  rank: Nullable(Type.Integer()),
  value: Nullable(WholeNumber()),
  move: LeagueMove,
  cohort: Nullable(Type.Object({ users: Type.Integer(), rankings: Type.Array(LeagueRanking) })),
});
export type UserLeague = Static<typeof UserLeague>;

/** How many users and cohorts each tier of a leaderboard has in a run; `waiting`: users without a cohort yet. */
export const LeagueOverview = Type.Object({
  run: LocalDate,
  waiting: Type.Integer(),
  tiers: Type.Array(Type.Object({ ...LeagueTier.properties, users: Type.Integer(), cohorts: Type.Integer() })),
});
export type LeagueOverview = Static<typeof LeagueOverview>;
